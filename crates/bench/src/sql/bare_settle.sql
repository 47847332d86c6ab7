-- The bare loop: ends claimed jobs as successes, with their attempt records.
-- Parameters: 1 ids, 2 fences, 3 now. Rows: id of those that were settled. Locks: the rows.
WITH settled AS (
    UPDATE steadfast.job_hot AS job SET state = 2, lease_until = NULL, worker = NULL, finished_at = $3
    FROM unnest($1::uuid[], $2::bigint[]) AS done (id, fence)
    WHERE job.id = done.id AND job.fence = done.fence AND job.state + 0 = 1
    RETURNING job.id, job.fence, job.attempt, job.started_at, job.finished_at
)
INSERT INTO steadfast.attempt (job, fence, attempt, status, started_at, finished_at, worker)
SELECT id, fence, attempt, 'SUCCESS', started_at, finished_at, 'bare' FROM settled
RETURNING job
