-- What waits in ranges that another node has named: the earliest job of each, one seek each.
-- Parameters: 1 lanes, 2 sublanes, 3 levels. Rows: as named, those in which a job waits. Locks: none.
SELECT strip.lane, strip.sublane, strip.level, head.run_at, head.destination, head.concurrency_key
FROM unnest($1::integer[], $2::bigint[], $3::integer[]) AS strip (lane, sublane, level)
CROSS JOIN LATERAL (
    SELECT job.run_at, job.destination, job.concurrency_key FROM steadfast.job
    WHERE
        job.state = 0 AND job.lane = strip.lane AND coalesce(job.sublane, 0) = strip.sublane
        AND (job.priority * 2 + (job.attempt > job.attempts_before)::integer) = strip.level
    ORDER BY job.run_at
    LIMIT 1
) AS head
