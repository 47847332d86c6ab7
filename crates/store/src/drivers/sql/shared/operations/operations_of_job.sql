-- The newest operations of a job.
-- Parameters: 1 job, 2 below this id, 3 limit. Rows: operation. Locks: none.
SELECT operation FROM steadfast_operation_job
WHERE job = ?1 AND operation < ?2
ORDER BY operation DESC
LIMIT ?3
