-- The earliest waiting times of ranges, one seek each.
-- Parameters: 1 lanes, 2 flow keys, 3 levels, 4 the earliest times to look at.
-- Rows: number, run_at, null if none waits, in no order. Locks: none.
SELECT due_range.number, head.run_at
FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bigint[])
    WITH ORDINALITY AS due_range (lane, flow_key, level, oldest_live, number)
LEFT JOIN LATERAL (
    SELECT job.run_at FROM steadfast.job_hot AS job
    WHERE
        job.state = 0 AND job.lane = due_range.lane AND job.flow_key = due_range.flow_key
        AND job.level = due_range.level
        AND job.run_at >= due_range.oldest_live
    ORDER BY job.run_at
    LIMIT 1
) AS head ON true
