-- The earliest waiting times of ranges, one seek each.
-- Parameters: 1 lanes, 2 sublanes, 3 levels, 4 the earliest times to look at.
-- Rows: number, run_at, null if none waits, in no order. Locks: none.
SELECT strip.number, head.run_at
FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bigint[])
    WITH ORDINALITY AS strip (lane, sublane, level, low, number)
LEFT JOIN LATERAL (
    SELECT job.run_at FROM steadfast.job
    WHERE
        job.state = 0 AND job.lane = strip.lane AND job.sublane = strip.sublane
        AND job.level = strip.level
        AND job.run_at >= strip.low
    ORDER BY job.run_at
    LIMIT 1
) AS head ON true
