-- The first job of each of some ranges.
-- Parameters: 1 lanes, 2 flow keys, 3 levels. Rows: number, id, run_at, of those that have any.
-- Locks: none.
SELECT due_range.number, head.id, head.run_at
FROM unnest($1::bigint[], $2::bigint[], $3::integer[])
    WITH ORDINALITY AS due_range (lane, flow_key, level, number)
CROSS JOIN LATERAL (
    SELECT job.id, job.run_at FROM steadfast.job_hot AS job
    WHERE
        job.state = 0 AND job.lane = due_range.lane AND job.flow_key = due_range.flow_key
        AND job.level = due_range.level
    ORDER BY job.run_at
    LIMIT 1
) AS head
