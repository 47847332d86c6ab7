-- Deletes the idempotency key of a job or schedule.
-- Parameters: 1 tenant, 2 key, 3 job. Rows: none. Locks: the row.
DELETE FROM steadfast_idempotency WHERE tenant = ?1 AND idempotency_key = ?2 AND job = ?3
