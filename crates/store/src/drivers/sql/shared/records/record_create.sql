-- Stores a record, unless its id or its name is taken.
-- Parameters: 1 kind, 2 id, 3 tenant, 4 name, 5 state, 6 time, 7 revision, 8 body. Rows: none.
-- Locks: the row; one that another transaction is creating is waited for.
INSERT INTO steadfast_record (kind, id, tenant, name, state, at, revision, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT DO NOTHING
