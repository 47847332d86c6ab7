-- Running jobs of a worker that should be cancelled.
-- Parameters: 1 worker, 2 limit. Rows: id, fence. Locks: none.
SELECT job.id, job.fence FROM steadfast.job_hot AS job
WHERE job.state = 1 AND job.cancel_requested AND job.worker = $1
ORDER BY job.id
LIMIT $2
