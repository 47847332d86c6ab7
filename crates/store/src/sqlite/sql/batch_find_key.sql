-- The batch of an idempotency key.
-- Parameters: 1 tenant, 2 key. Rows: as named, at most one. Locks: read.
SELECT id, tenant, created_at, finished_at, counts, body FROM steadfast_batch
WHERE tenant = ?1 AND idempotency_key = ?2
