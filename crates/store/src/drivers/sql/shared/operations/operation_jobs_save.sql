-- Stores jobs of an operation.
-- Parameters: of each row operation, job, result, attempts, fingerprint, what it waits for. Rows: none.
-- Locks: the rows.
INSERT INTO steadfast_operation_job (operation, job, result, attempts, fingerprint, pending)
VALUES /*rows*/
ON CONFLICT (operation, job) DO UPDATE SET result = excluded.result, attempts = excluded.attempts,
    fingerprint = excluded.fingerprint, pending = excluded.pending
