-- Of lanes with jobs that are due or may be: the earliest waiting time, and how many jobs of the
-- present minute are due and how many are not, all and those for a retry, each counted no
-- further than a limit. The flow keys and levels that a lane has are found one after the other, up to
-- a number; of a lane that has more, nothing is counted, and each count is its limit.
-- Parameters: 1 lanes, 2 whether the present minute has to be counted, 3 when it began, 4 the
-- first moment that is not due, 5 when it ends, 6 limit, 7 flow keys and levels of a lane at most.
-- Rows: lane, earliest or null, due, later, retrying_due, retrying_later. Locks: none.
SELECT
    asked.lane, heads.earliest,
    CASE WHEN heads.count < $7 THEN counts.due ELSE $6 END AS due,
    CASE WHEN heads.count < $7 THEN counts.later ELSE $6 END AS later,
    CASE WHEN heads.count < $7 THEN counts.retrying_due ELSE $6 END AS retrying_due,
    CASE WHEN heads.count < $7 THEN counts.retrying_later ELSE $6 END AS retrying_later
FROM unnest($1::bigint[], $2::boolean[]) AS asked (lane, is_present)
CROSS JOIN LATERAL (
    WITH RECURSIVE head AS (
        (
            SELECT
                job.flow_key,
                job.level,
                job.run_at, 1 AS number
            FROM steadfast.job_hot AS job
            WHERE job.state = 0 AND job.lane = asked.lane
            ORDER BY
                job.flow_key,
                job.level, job.run_at
            LIMIT 1
        )
        UNION ALL
        SELECT next.flow_key, next.level, next.run_at, head.number + 1
        FROM head
        CROSS JOIN LATERAL (
            SELECT * FROM (
                (
                    SELECT
                        job.flow_key,
                        job.level,
                        job.run_at
                    FROM steadfast.job_hot AS job
                    WHERE
                        job.state = 0 AND job.lane = asked.lane
                        AND job.flow_key = head.flow_key
                        AND job.level > head.level
                    ORDER BY
                        job.level, job.run_at
                    LIMIT 1
                )
                UNION ALL
                (
                    SELECT
                        job.flow_key,
                        job.level, job.run_at
                    FROM steadfast.job_hot AS job
                    WHERE
                        job.state = 0 AND job.lane = asked.lane
                        AND job.flow_key > head.flow_key
                    ORDER BY
                        job.flow_key,
                        job.level, job.run_at
                    LIMIT 1
                )
            ) AS candidate
            LIMIT 1
        ) AS next
        WHERE head.number < $7::bigint
    )
    SELECT
        min(run_at) AS earliest, count(*) AS count, array_agg(flow_key) AS flow_keys,
        array_agg(level) AS levels
    FROM head
) AS heads
CROSS JOIN LATERAL (
    SELECT
        coalesce(sum(due_range.due), 0)::bigint AS due,
        coalesce(sum(due_range.later), 0)::bigint AS later,
        coalesce(sum(due_range.due) FILTER (WHERE due_range.level % 2 = 1), 0)::bigint AS retrying_due,
        coalesce(sum(due_range.later) FILTER (WHERE due_range.level % 2 = 1), 0)::bigint AS retrying_later
    FROM (
        SELECT
            one.level,
            (
                SELECT count(*) FROM (
                    SELECT 1 FROM steadfast.job_hot AS job
                    WHERE
                        job.state = 0 AND job.lane = asked.lane
                        AND job.flow_key = one.flow_key
                        AND job.level = one.level
                        AND job.run_at >= $3 AND job.run_at < $4
                    LIMIT $6
                ) AS bounded
            ) AS due,
            (
                SELECT count(*) FROM (
                    SELECT 1 FROM steadfast.job_hot AS job
                    WHERE
                        job.state = 0 AND job.lane = asked.lane
                        AND job.flow_key = one.flow_key
                        AND job.level = one.level
                        AND job.run_at >= $4 AND job.run_at < $5
                    LIMIT $6
                ) AS bounded
            ) AS later
        FROM unnest(heads.flow_keys, heads.levels) AS one (flow_key, level)
        WHERE asked.is_present AND heads.count < $7
    ) AS due_range
) AS counts
