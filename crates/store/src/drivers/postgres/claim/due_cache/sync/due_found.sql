-- What waits in ranges that another node has named: the earliest job of each, one seek each.
-- Parameters: 1 lanes, 2 flow keys, 3 levels. Rows: as named, those in which a job waits. Locks: none.
SELECT due_range.lane, due_range.flow_key, due_range.level, head.run_at, head.destination, head.concurrency_key
FROM unnest($1::bigint[], $2::bigint[], $3::integer[]) AS due_range (lane, flow_key, level)
CROSS JOIN LATERAL (
    SELECT job.run_at, job.destination, job.concurrency_key FROM steadfast.job_hot AS job
    WHERE
        job.state = 0 AND job.lane = due_range.lane AND job.flow_key = due_range.flow_key
        AND job.level = due_range.level
    ORDER BY job.run_at
    LIMIT 1
) AS head
