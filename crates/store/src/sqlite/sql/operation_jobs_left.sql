-- Jobs that an operation left as they are, newest id first.
-- Parameters: 1 operation, 2 those before this id, 3 limit. Rows: job, result, attempts, fingerprint,
-- outcome. Locks: read.
SELECT job, result, attempts, fingerprint, outcome FROM steadfast_operation_job
INDEXED BY steadfast_operation_job_left
WHERE operation = ?1 AND job < ?2 AND result <> 'changed'
ORDER BY job DESC
LIMIT ?3
