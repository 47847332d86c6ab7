-- The newest operations of a job.
-- Parameters: 1 job, 2 limit. Rows: operation. Locks: none.
SELECT operation FROM steadfast_operation_job WHERE job = ?1 ORDER BY operation DESC LIMIT ?2
