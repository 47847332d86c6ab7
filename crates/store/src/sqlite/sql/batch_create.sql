-- Stores a batch.
-- Parameters: 1 id, 2 tenant, 3 idempotency key, 4 created_at, 5 finished_at, 6 counts, 7 body.
-- Rows: none. Locks: write.
INSERT INTO steadfast_batch (id, tenant, idempotency_key, created_at, finished_at, counts, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
