-- Where jobs wait: the next ranges of the index, with the earliest job of each. A few seeks for each.
-- Parameters: 1 lane, 2 flow key, 3 level, after which to look, 4 limit. Rows: as named, in order.
-- Locks: none.
WITH RECURSIVE due_range AS (
    SELECT $1::bigint AS lane, $2::bigint AS flow_key, $3::integer AS level, NULL::uuid AS id, 0 AS number
    UNION ALL
    SELECT next.lane, next.flow_key, next.level, next.id, due_range.number + 1
    FROM due_range
    CROSS JOIN LATERAL (
        SELECT * FROM (
            (
                SELECT
                    job.lane, job.flow_key,
                    job.level, job.id
                FROM steadfast.job_hot AS job
                WHERE
                    job.state = 0 AND job.lane = due_range.lane AND job.flow_key = due_range.flow_key
                    AND job.level > due_range.level
                ORDER BY job.level, job.run_at
                LIMIT 1
            )
            UNION ALL
            (
                SELECT
                    job.lane, job.flow_key,
                    job.level, job.id
                FROM steadfast.job_hot AS job
                WHERE
                    job.state = 0 AND job.lane = due_range.lane AND job.flow_key > due_range.flow_key
                ORDER BY
                    job.flow_key,
                    job.level, job.run_at
                LIMIT 1
            )
            UNION ALL
            (
                SELECT
                    job.lane, job.flow_key,
                    job.level, job.id
                FROM steadfast.job_hot AS job
                WHERE job.state = 0 AND job.lane > due_range.lane
                ORDER BY
                    job.lane, job.flow_key,
                    job.level, job.run_at
                LIMIT 1
            )
        ) AS candidate
        LIMIT 1
    ) AS next
    WHERE due_range.number < $4::bigint
)
SELECT due_range.lane, due_range.flow_key, due_range.level, job.run_at, job.destination, job.concurrency_key
FROM due_range
JOIN steadfast.job_hot AS job ON job.id = due_range.id
WHERE due_range.id IS NOT NULL
ORDER BY due_range.number
