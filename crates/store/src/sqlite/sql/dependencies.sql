-- How the jobs stand that a job waits for.
-- Parameters: 1 id of the one that waits. Rows: as named; without a state if it was deleted.
-- Locks: read.
SELECT
    dependency.prerequisite, dependency.result, job.state,
    job.resolved_at IS NOT NULL AS is_resolved
FROM steadfast_dependency AS dependency
LEFT JOIN steadfast_job AS job ON job.id = dependency.prerequisite
WHERE dependency.job = ?1
ORDER BY dependency.prerequisite
