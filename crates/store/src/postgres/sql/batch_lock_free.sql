-- One batch, unless another node works on it.
-- Parameters: 1 id. Rows: as named, at most one. Locks: the row.
SELECT id, tenant, created_at, finished_at, counts, body FROM steadfast.batch WHERE id = $1
FOR UPDATE SKIP LOCKED
