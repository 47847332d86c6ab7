-- Stores which jobs have idempotency keys, and the fingerprints of their requests, unless a key
-- is stored already. A key that another transaction is storing is waited for, so the keys come
-- sorted.
-- Parameters: arrays with one entry per key: 1 tenant, 2 key, 3 job, 4 fingerprint.
-- Rows: tenant and key of those that were stored. Locks: the new rows.
INSERT INTO steadfast.idempotency (tenant, idempotency_key, job, fingerprint)
SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[], $4::bytea[])
ON CONFLICT DO NOTHING
RETURNING tenant, idempotency_key
