-- The attempts that run. Reads all of them.
-- Parameters: none. Rows: as named. Locks: none.
SELECT job.id, job.lane, job.destination, job.concurrency_key
FROM steadfast.job_hot AS job
WHERE job.state = 1
