-- Jobs that wait for one that has not ended.
-- Parameters: ids of those that wait. Rows: id. Locks: none.
SELECT waiting.id FROM steadfast_job/*hot*/ AS waiting
WHERE waiting.id IN (/*list*/) AND EXISTS (
    SELECT 1 FROM steadfast_dependency AS dependency
    INNER JOIN steadfast_job/*hot*/ AS job ON job.id = dependency.prerequisite
    WHERE dependency.job = waiting.id AND dependency.result = 0 AND job.state + 0 IN (0, 1)
)
