-- What was done to a job of an operation.
-- Parameters: 1 operation, 2 job, 3 result, 4 attempts, 5 fingerprint, 6 what is waited for. Rows: none.
-- Locks: write.
INSERT INTO steadfast_operation_job (operation, job, result, attempts, fingerprint, pending)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (operation, job) DO UPDATE SET result = excluded.result, attempts = excluded.attempts,
    fingerprint = excluded.fingerprint, pending = excluded.pending
