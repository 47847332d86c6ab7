-- Where jobs wait: the next ranges of the index, with the earliest job of each. A few seeks for each.
-- Parameters: 1 lane, 2 sublane, 3 level, after which to look, 4 limit. Rows: as named, in order.
-- Locks: none.
WITH RECURSIVE strip AS (
    SELECT $1::bigint AS lane, $2::bigint AS sublane, $3::integer AS level, NULL::uuid AS id, 0 AS number
    UNION ALL
    SELECT next.lane, next.sublane, next.level, next.id, strip.number + 1
    FROM strip
    CROSS JOIN LATERAL (
        SELECT * FROM (
            (
                SELECT
                    job.lane, job.sublane,
                    job.level, job.id
                FROM steadfast.job
                WHERE
                    job.state = 0 AND job.lane = strip.lane AND job.sublane = strip.sublane
                    AND job.level > strip.level
                ORDER BY job.level, job.run_at
                LIMIT 1
            )
            UNION ALL
            (
                SELECT
                    job.lane, job.sublane,
                    job.level, job.id
                FROM steadfast.job
                WHERE
                    job.state = 0 AND job.lane = strip.lane AND job.sublane > strip.sublane
                ORDER BY
                    job.sublane,
                    job.level, job.run_at
                LIMIT 1
            )
            UNION ALL
            (
                SELECT
                    job.lane, job.sublane,
                    job.level, job.id
                FROM steadfast.job
                WHERE job.state = 0 AND job.lane > strip.lane
                ORDER BY
                    job.lane, job.sublane,
                    job.level, job.run_at
                LIMIT 1
            )
        ) AS candidate
        LIMIT 1
    ) AS next
    WHERE strip.number < $4::bigint
)
SELECT strip.lane, strip.sublane, strip.level, job.run_at, job.destination, job.concurrency_key
FROM strip
JOIN steadfast.job ON job.id = strip.id
WHERE strip.id IS NOT NULL
ORDER BY strip.number
