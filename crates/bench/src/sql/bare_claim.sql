-- The bare loop: claims due jobs of one lane and priority.
-- Parameters: 1 lane, 2 now, 3 limit. Rows: id, fence, attempt, payload. Locks: the rows, if
-- they are free.
WITH due AS MATERIALIZED (
    SELECT id FROM steadfast.job_hot
    WHERE state = 0 AND lane = $1 AND flow_key = 0 AND level = 10 AND run_at <= $2::bigint
    ORDER BY run_at
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
UPDATE steadfast.job_hot AS job SET
    state = 1,
    fence = job.fence + 1,
    attempt = job.attempt + 1,
    lease_until = $2 + 30000000,
    worker = 'bare',
    started_at = $2,
    first_started_at = coalesce(job.first_started_at, $2)
FROM due
WHERE job.id = due.id
RETURNING job.id, job.fence, job.attempt, job.payload
