-- Whether a job that another one waits for has not ended.
-- Parameters: 1 id of the one that waits. Rows: one, is_unfinished. Locks: read.
SELECT EXISTS (
    SELECT 1 FROM steadfast_dependency AS dependency
    INNER JOIN steadfast_job AS job ON job.id = dependency.prerequisite
    WHERE dependency.job = ?1 AND dependency.result = 0 AND job.state IN (0, 1)
) AS is_unfinished
