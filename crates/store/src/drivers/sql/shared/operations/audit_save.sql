-- Stores an audit record, unless it is stored already.
-- Parameters: 1 id, 2 tenant, 3 time, 4 the name of the caller, 5 action, 6 subject, 7 body. Rows: none.
-- Locks: the row.
INSERT INTO steadfast_audit (id, tenant, at, actor, action, subject, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (id) DO NOTHING
