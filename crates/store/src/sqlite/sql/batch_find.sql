-- One batch.
-- Parameters: 1 id. Rows: as named, at most one. Locks: read.
SELECT id, tenant, created_at, finished_at, counts, body FROM steadfast_batch WHERE id = ?1
