-- The newest runs of schedules that have not ended.
-- Parameters: 1 schedule ids. Rows: schedule id, job id. Locks: none.
SELECT asked.schedule, newest.id AS job
FROM unnest($1::uuid[]) AS asked (schedule)
CROSS JOIN LATERAL (
    SELECT job.id FROM steadfast.job
    WHERE job.schedule = asked.schedule AND job.schedule IS NOT NULL AND job.state IN (0, 1)
    ORDER BY job.tick DESC, job.id DESC
    LIMIT 1
) AS newest
