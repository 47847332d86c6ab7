-- Stores a batch.
-- Parameters: 1 id, 2 tenant, 3 idempotency key, 4 created_at, 5 counts, 6 body.
-- Rows: none. Locks: the new row.
INSERT INTO steadfast.batch (id, tenant, idempotency_key, created_at, counts, body)
VALUES ($1, $2, $3, $4, $5, $6)
