-- Deletes an idempotency key of a job that is gone.
-- Parameters: 1 tenant, 2 key, 3 job id. Rows: none. Locks: write.
DELETE FROM steadfast_idempotency WHERE tenant = ?1 AND idempotency_key = ?2 AND job = ?3
