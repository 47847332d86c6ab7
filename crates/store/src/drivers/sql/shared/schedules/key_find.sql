-- The job or schedule that has an idempotency key, and the fingerprint of the request that created it.
-- Parameters: 1 tenant, 2 key. Rows: job, fingerprint, at most one. Locks: none.
SELECT job, fingerprint FROM steadfast_idempotency WHERE tenant = ?1 AND idempotency_key = ?2
