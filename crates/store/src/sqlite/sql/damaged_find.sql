-- Jobs that wait for the end of time, because a claim could not read them: ten seeks for each
-- lane. The priorities are those up to PRIORITY_MAX.
-- Parameters: 1 the end of time, 2 limit. Rows: id. Locks: read.
WITH each (priority) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))
SELECT steadfast_job.id
FROM steadfast_lane
CROSS JOIN each
CROSS JOIN steadfast_job
WHERE
    steadfast_job.state = 0 AND steadfast_job.lane = steadfast_lane.id
    AND steadfast_job.priority = each.priority AND steadfast_job.run_at = ?1
LIMIT ?2
