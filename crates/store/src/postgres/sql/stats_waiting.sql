-- Of lanes with jobs that are due or may be: the earliest waiting time, and how many jobs of the
-- present minute are due and how many are not, all and those for a retry, each counted no
-- further than a limit. The priorities that a lane has are found one after the other.
-- Parameters: 1 lanes, 2 whether the present minute has to be counted, 3 when it began, 4 the
-- first moment that is not due, 5 when it ends, 6 limit.
-- Rows: lane, earliest or null, due, later, retrying_due, retrying_later. Locks: none.
SELECT
    asked.lane, heads.earliest, due.count AS due, later.count AS later,
    retrying_due.count AS retrying_due, retrying_later.count AS retrying_later
FROM unnest($1::integer[], $2::boolean[]) AS asked (lane, is_present)
CROSS JOIN LATERAL (
    WITH RECURSIVE head AS (
        (
            SELECT job.priority, job.run_at FROM steadfast.job
            WHERE job.state = 0 AND job.lane = asked.lane
            ORDER BY job.priority, job.run_at
            LIMIT 1
        )
        UNION ALL
        SELECT next.priority, next.run_at
        FROM head
        CROSS JOIN LATERAL (
            SELECT job.priority, job.run_at FROM steadfast.job
            WHERE job.state = 0 AND job.lane = asked.lane AND job.priority > head.priority
            ORDER BY job.priority, job.run_at
            LIMIT 1
        ) AS next
    )
    SELECT min(run_at) AS earliest, array_agg(priority) AS priorities FROM head
) AS heads
CROSS JOIN LATERAL (
    SELECT count(*) FROM (
        SELECT 1
        FROM unnest(heads.priorities) AS level (priority)
        JOIN steadfast.job ON job.priority = level.priority
        WHERE
            asked.is_present AND job.state = 0 AND job.lane = asked.lane
            AND job.run_at >= $3 AND job.run_at < $4
        LIMIT $6
    ) AS bounded
) AS due
CROSS JOIN LATERAL (
    SELECT count(*) FROM (
        SELECT 1
        FROM unnest(heads.priorities) AS level (priority)
        JOIN steadfast.job ON job.priority = level.priority
        WHERE
            asked.is_present AND job.state = 0 AND job.lane = asked.lane
            AND job.run_at >= $4 AND job.run_at < $5
        LIMIT $6
    ) AS bounded
) AS later
CROSS JOIN LATERAL (
    SELECT count(*) FROM (
        SELECT 1 FROM steadfast.job
        WHERE
            asked.is_present AND job.state = 0 AND job.attempt > job.attempts_before
            AND job.lane = asked.lane AND job.run_at >= $3 AND job.run_at < $4
        LIMIT $6
    ) AS bounded
) AS retrying_due
CROSS JOIN LATERAL (
    SELECT count(*) FROM (
        SELECT 1 FROM steadfast.job
        WHERE
            asked.is_present AND job.state = 0 AND job.attempt > job.attempts_before
            AND job.lane = asked.lane AND job.run_at >= $4 AND job.run_at < $5
        LIMIT $6
    ) AS bounded
) AS retrying_later
