-- Stores the idempotency key of a job or schedule, unless it is taken.
-- Parameters: 1 tenant, 2 key, 3 job, 4 fingerprint. Rows: none. Locks: the new row; a key that another
-- transaction is storing is waited for.
INSERT INTO steadfast_idempotency (tenant, idempotency_key, job, fingerprint)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (tenant, idempotency_key) DO NOTHING
