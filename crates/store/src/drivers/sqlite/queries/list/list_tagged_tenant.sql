-- A tenant's jobs with a tag, newest id first, with what rules most of them out.
-- Parameters: 1 ids below this, 2 limit, 3 tag, 4 tenant. Rows: as named. Locks: read.
SELECT job.seq, job.id, job.lane, job.state, job.run_at,
    job.attempt > job.attempts_before AS is_retry, job.created_at, job.reason,
    job.failure IS NOT NULL AS has_failure
FROM steadfast_tag AS tagged INDEXED BY steadfast_tag_tenant
    CROSS JOIN steadfast_job AS job ON job.id = tagged.job
WHERE tagged.tenant = ?4 AND tagged.tag = ?3 AND tagged.job < ?1
ORDER BY tagged.job DESC
LIMIT ?2
