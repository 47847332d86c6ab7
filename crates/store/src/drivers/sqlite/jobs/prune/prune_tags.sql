-- Deletes the tags of a job that is still there.
-- Parameters: 1 job. Rows: none. Locks: write.
DELETE FROM steadfast_tag WHERE (tag, job) IN (
    SELECT each.key || ':' || each.value, job.id
    FROM steadfast_job AS job
    JOIN json_each(CASE WHEN json_valid(job.tags) THEN job.tags ELSE '{}' END) AS each
    WHERE job.seq = ?1 AND job.tags IS NOT NULL
)
