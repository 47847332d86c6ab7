-- Jobs of lanes, the newest of each lane, with what rules most of them out.
-- Parameters: 1 ids up to this, 2 limit for each lane, 3 lanes. Rows: as named. Locks: none.
SELECT
    newest.id, newest.lane, newest.state, newest.run_at, newest.is_retry, newest.created_at,
    newest.reason, newest.has_failure
FROM unnest($3::bigint[]) AS wanted (lane)
CROSS JOIN LATERAL (
    SELECT
        job.id, job.lane, job.state, job.run_at, job.attempt > job.attempts_before AS is_retry,
        job.created_at, job.reason, job.failure IS NOT NULL AS has_failure
    FROM steadfast.job
    WHERE job.lane > 0 AND job.lane = wanted.lane AND job.id <= $1
    ORDER BY job.lane, job.id DESC
    LIMIT $2
) AS newest
