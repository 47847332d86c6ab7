-- Deletes logs of jobs that were dropped.
-- Parameters: 1 jobs behind this id, 2 before this id, 3 limit. Rows: one, the last job looked at, or null.
-- Locks: the rows.
WITH page AS MATERIALIZED (
    SELECT DISTINCT job FROM (
        SELECT job FROM steadfast.log WHERE job > $1 AND job < $2 ORDER BY job LIMIT $3
    ) AS first
),
gone AS (
    DELETE FROM steadfast.log USING page
    WHERE log.job = page.job AND NOT EXISTS (SELECT 1 FROM steadfast.job WHERE job.id = page.job)
)
SELECT job AS last FROM page ORDER BY job DESC LIMIT 1
