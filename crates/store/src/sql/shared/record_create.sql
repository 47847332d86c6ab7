-- Stores a record, unless its id is stored already.
-- Parameters: 1 kind, 2 id, 3 tenant, 4 state, 5 time, 6 revision, 7 body. Rows: none. Locks: the row.
INSERT INTO steadfast_record (kind, id, tenant, state, at, revision, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (kind, id) DO NOTHING
