-- What jobs wait for.
-- Parameters: ids of those that wait. Rows: job, prerequisite, whether that has succeeded, its state,
-- whether it was discarded; without a state if it was deleted. Locks: none.
SELECT
    dependency.job, dependency.prerequisite, dependency.result, job.state, job.resolved_at IS NOT NULL
FROM steadfast_dependency AS dependency
LEFT JOIN steadfast_job AS job ON job.id = dependency.prerequisite
WHERE dependency.job IN (/*list*/)
ORDER BY dependency.job, dependency.prerequisite
