-- Jobs of an operation, newest first.
-- Parameters: 1 operation, 2 below this id, 3 limit. Rows: job, result, attempts, fingerprint, outcome.
-- Locks: none.
SELECT job, result, attempts, fingerprint, outcome FROM steadfast_operation_job
WHERE operation = ?1 AND job < ?2
ORDER BY job DESC
LIMIT ?3
