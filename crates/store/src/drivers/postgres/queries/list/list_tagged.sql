-- Jobs of any tenant with a tag, newest id first, with what rules most of them out.
-- Parameters: 1 ids up to this, 2 limit, 3 tag. Rows: as named. Locks: none.
SELECT job.id, job.lane, job.state, job.run_at, job.attempt > job.attempts_before AS is_retry,
    job.created_at, job.reason, job.failure IS NOT NULL AS has_failure
FROM (
    SELECT tag.job FROM steadfast.tag
    WHERE tag.tag = $3 AND tag.job <= $1
    ORDER BY tag.job DESC
    LIMIT $2
) AS tagged
JOIN steadfast.job ON job.id = tagged.job
ORDER BY tagged.job DESC
