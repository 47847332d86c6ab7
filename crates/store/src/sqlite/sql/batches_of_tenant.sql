-- Batches of a tenant, newest first.
-- Parameters: 1 those before this id, 2 limit, 3 tenant. Rows: as named. Locks: read.
SELECT id, tenant, created_at, finished_at, counts, body FROM steadfast_batch
WHERE id < ?1 AND tenant = ?3
ORDER BY id DESC
LIMIT ?2
