-- The newest run of each schedule that has not ended. The first value gives the others their type.
-- Parameters: schedules. Rows: schedule, job or null. Locks: none.
SELECT asked.column1 AS schedule, (
    SELECT id FROM steadfast_job/*hot*/
    WHERE schedule = asked.column1 AND schedule IS NOT NULL AND state IN (0, 1)
    ORDER BY tick DESC, id DESC
    LIMIT 1
) AS job
FROM (VALUES (NULL/*uuid*/), /*rows*/) AS asked
WHERE asked.column1 IS NOT NULL
