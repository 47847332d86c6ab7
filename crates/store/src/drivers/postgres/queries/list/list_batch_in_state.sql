-- Jobs of a batch in a state, newest id first, with what rules most of them out.
-- Parameters: 1 ids up to this, 2 limit, 3 batch, 4 state. Rows: as named. Locks: none.
SELECT job.id, job.lane, job.state, job.run_at, job.attempt > job.attempts_before AS is_retry,
    job.created_at, job.reason, job.failure IS NOT NULL AS has_failure
FROM (
    SELECT batch_job.job FROM steadfast.batch_job
    WHERE batch_job.batch = $3 AND batch_job.state = $4 AND batch_job.job <= $1
    ORDER BY batch_job.job DESC
    LIMIT $2
) AS counted
JOIN steadfast.job ON job.id = counted.job
ORDER BY counted.job DESC
