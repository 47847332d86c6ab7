-- Jobs of a batch, newest id first, with what rules most of them out.
-- Parameters: 1 ids below this, 2 limit, 3 batch. Rows: as named. Locks: read.
SELECT job.seq, job.id, job.lane, job.state, job.run_at,
    job.attempt > job.attempts_before AS is_retry, job.created_at, job.reason,
    job.failure IS NOT NULL AS has_failure
FROM steadfast_batch_job AS counted INDEXED BY steadfast_batch_job_batch
    CROSS JOIN steadfast_job AS job ON job.id = counted.job
WHERE counted.batch = ?3 AND counted.job < ?1
ORDER BY counted.job DESC
LIMIT ?2
