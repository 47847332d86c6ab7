-- Of the waiting jobs of lanes: how many are due, and how many are not yet, each counted no
-- further than a limit; how many wait for a retry that is not due; and the earliest time.
-- Parameters: 1 lanes, 2 now, 3 limit. Rows: lane, ready, later, retrying, earliest or null.
-- Locks: none.
SELECT
    asked.lane, ready.count AS ready, later.count AS later, retrying.count AS retrying,
    heads.earliest
FROM unnest($1::integer[]) AS asked (lane)
CROSS JOIN LATERAL (
    SELECT min(head.run_at) AS earliest
    FROM generate_series(0, 9) AS level (priority)
    CROSS JOIN LATERAL (
        SELECT job.run_at FROM steadfast.job
        WHERE job.state = 0 AND job.lane = asked.lane AND job.priority = level.priority
        ORDER BY job.run_at
        LIMIT 1
    ) AS head
) AS heads
CROSS JOIN LATERAL (
    SELECT count(*) FROM (
        SELECT 1
        FROM generate_series(0, 9) AS level (priority)
        JOIN steadfast.job ON job.priority = level.priority
        WHERE job.state = 0 AND job.lane = asked.lane AND job.run_at <= $2
        LIMIT $3
    ) AS bounded
) AS ready
CROSS JOIN LATERAL (
    SELECT count(*) FROM (
        SELECT 1
        FROM generate_series(0, 9) AS level (priority)
        JOIN steadfast.job ON job.priority = level.priority
        WHERE job.state = 0 AND job.lane = asked.lane AND job.run_at > $2
        LIMIT $3
    ) AS bounded
) AS later
CROSS JOIN LATERAL (
    SELECT count(*) FROM steadfast.job
    WHERE
        job.state = 0 AND job.attempt > job.attempts_before AND job.lane = asked.lane
        AND job.run_at > $2
) AS retrying
