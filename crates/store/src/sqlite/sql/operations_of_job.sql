-- The newest operations of a job.
-- Parameters: 1 job, 2 limit. Rows: id, revision, body. Locks: read.
SELECT operation.id, operation.revision, operation.body
FROM steadfast_operation_job AS worked
JOIN steadfast_operation AS operation ON operation.id = worked.operation
WHERE worked.job = ?1
ORDER BY worked.operation DESC
LIMIT ?2
