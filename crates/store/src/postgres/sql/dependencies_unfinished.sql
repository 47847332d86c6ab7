-- Which jobs wait for one that has not ended.
-- Parameters: 1 ids of those that wait. Rows: job. Locks: none.
SELECT waiting.job FROM unnest($1::uuid[]) AS waiting (job)
WHERE EXISTS (
    SELECT 1 FROM steadfast.dependency
    INNER JOIN steadfast.job ON job.id = dependency.prerequisite
    WHERE dependency.job = waiting.job AND dependency.result = 0 AND job.state + 0 IN (0, 1)
)
