-- Jobs that wait for the end of time, because a claim could not read them.
-- Parameters: 1 limit. Rows: id. Locks: none.
SELECT job.id FROM steadfast.job_hot AS job
WHERE job.state = 0 AND job.run_at = 253402207200000000
LIMIT $1
