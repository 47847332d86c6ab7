-- Creates an operation, unless it is stored already.
-- Parameters: 1 id, 2 tenant, 3 whether it is open, 4 when it ended, 5 revision, 6 body. Rows: none.
-- Locks: the row.
INSERT INTO steadfast.operation (id, tenant, is_open, finished_at, revision, body)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO NOTHING
