-- The earliest waiting time of each priority of a lane: ten seeks, whatever waits. The
-- priorities are those up to PRIORITY_MAX.
-- Parameters: 1 lane. Rows: priority, run_at or null. Locks: read.
WITH each (priority) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))
SELECT
    each.priority,
    (
        SELECT min(run_at) FROM steadfast_job
        WHERE state = 0 AND lane = ?1 AND steadfast_job.priority = each.priority
    ) AS run_at
FROM each
