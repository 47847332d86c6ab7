-- How the jobs stand that jobs wait for.
-- Parameters: 1 ids of those that wait. Rows: as named; without a state if it was deleted.
-- Locks: none.
SELECT
    dependency.job, dependency.prerequisite, dependency.result, job.state,
    job.resolved_at IS NOT NULL AS is_resolved
FROM steadfast.dependency
LEFT JOIN steadfast.job ON job.id = dependency.prerequisite
WHERE dependency.job = ANY($1::uuid[])
ORDER BY dependency.job, dependency.prerequisite
