-- Batches of a tenant that have not ended, newest first.
-- Parameters: 1 those before this id, 2 limit, 3 tenant. Rows: as named. Locks: read.
SELECT id, tenant, created_at, finished_at, counts, body
FROM steadfast_batch INDEXED BY steadfast_batch_unfinished_of_tenant
WHERE finished_at IS NULL AND id < ?1 AND tenant = ?3
ORDER BY id DESC
LIMIT ?2
