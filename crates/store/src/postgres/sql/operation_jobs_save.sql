-- What was done to jobs of an operation.
-- Parameters: 1 operation, 2 jobs, 3 results, 4 attempts, 5 fingerprints, 6 what is waited for. Rows:
-- none. Locks: the rows.
INSERT INTO steadfast.operation_job (operation, job, result, attempts, fingerprint, pending)
SELECT $1, job, result, attempts, fingerprint, pending
FROM unnest($2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::smallint[])
    AS row (job, result, attempts, fingerprint, pending)
ON CONFLICT (operation, job) DO UPDATE SET result = excluded.result, attempts = excluded.attempts,
    fingerprint = excluded.fingerprint, pending = excluded.pending
