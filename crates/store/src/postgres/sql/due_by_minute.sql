-- The first waiting jobs of some sublanes and levels by the minute of their time.
-- Parameters: 1 lanes, 2 sublanes, 3 levels, 4 the earliest times to look at, 5 before which time,
-- 6 how many entries of each to look at. Rows: level, minute, jobs. Locks: none.
SELECT strip.level, counted.minute, counted.jobs
FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bigint[])
    WITH ORDINALITY AS strip (lane, sublane, level, low, number)
CROSS JOIN LATERAL (
    SELECT entry.run_at / 60000000 AS minute, count(*) AS jobs
    FROM (
        SELECT job.run_at FROM steadfast.job
        WHERE
            job.state = 0 AND job.lane = strip.lane AND job.sublane = strip.sublane
            AND job.level = strip.level
            AND job.run_at >= strip.low AND job.run_at < $5
        ORDER BY job.run_at
        LIMIT $6
    ) AS entry
    GROUP BY entry.run_at / 60000000
) AS counted
ORDER BY strip.number, counted.minute
