-- The first waiting jobs of some flow keys and levels by the minute of their time.
-- Parameters: 1 lanes, 2 flow keys, 3 levels, 4 the earliest times to look at, 5 until which time,
-- 6 how many entries of each to look at. Rows: number, minute, jobs. Locks: none.
SELECT due_range.number, counted.minute, counted.jobs
FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bigint[])
    WITH ORDINALITY AS due_range (lane, flow_key, level, oldest_live, number)
CROSS JOIN LATERAL (
    SELECT entry.run_at / 60000000 AS minute, count(*) AS jobs
    FROM (
        SELECT job.run_at FROM steadfast.job_hot AS job
        WHERE
            job.state = 0 AND job.lane = due_range.lane AND job.flow_key = due_range.flow_key
            AND job.level = due_range.level
            AND job.run_at >= due_range.oldest_live AND job.run_at <= $5
        ORDER BY job.run_at
        LIMIT $6
    ) AS entry
    GROUP BY entry.run_at / 60000000
) AS counted
ORDER BY due_range.number, counted.minute
