-- Stores which job has an idempotency key, and the fingerprint of its request.
-- Parameters: 1 tenant, 2 key, 3 job, 4 fingerprint. Rows: none. Locks: write.
INSERT INTO steadfast_idempotency (tenant, idempotency_key, job, fingerprint) VALUES (?1, ?2, ?3, ?4)
