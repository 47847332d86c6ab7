-- The waiting jobs of lanes, which are few, in no order.
-- Parameters: 1 ids up to this, 2 unused, 3 lanes. Rows: as named. Locks: none.
SELECT
    job.id, job.lane, job.state, job.run_at, job.attempt > job.attempts_before AS is_retry,
    job.created_at, job.reason, job.failure IS NOT NULL AS has_failure
FROM unnest($3::bigint[]) AS wanted (lane)
JOIN steadfast.job_hot AS job ON job.lane = wanted.lane
WHERE job.state = 0 AND job.id <= $1 AND $2::bigint IS NOT NULL
