-- Which job has an idempotency key, and the fingerprint of its request.
-- Parameters: 1 tenant, 2 key. Rows: job, fingerprint, at most one. Locks: read.
SELECT job, fingerprint FROM steadfast_idempotency WHERE tenant = ?1 AND idempotency_key = ?2
