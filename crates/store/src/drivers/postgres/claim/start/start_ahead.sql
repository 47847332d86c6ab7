-- How many jobs of ranges are due before another one.
-- Parameters: 1 lanes, 2 flow keys, 3 levels, 4 the earliest times to look at, 5 until which times,
-- 6 of those of exactly that time the ids before this one, or null for all, 7 how many entries to
-- look at. Rows: number, ahead, looked. Locks: none.
SELECT due_range.number, counted.ahead, counted.looked
FROM unnest(
    $1::bigint[], $2::bigint[], $3::integer[], $4::bigint[], $5::bigint[], $6::uuid[], $7::bigint[]
) WITH ORDINALITY AS due_range (lane, flow_key, level, oldest_live, until, before, most, number)
CROSS JOIN LATERAL (
    SELECT
        count(*) FILTER (
            WHERE entry.run_at < due_range.until OR due_range.before IS NULL OR entry.id < due_range.before
        ) AS ahead,
        count(*) AS looked
    FROM (
        SELECT job.run_at, job.id FROM steadfast.job_hot AS job
        WHERE
            job.state = 0 AND job.lane = due_range.lane AND job.flow_key = due_range.flow_key
            AND job.level = due_range.level
            AND job.run_at >= due_range.oldest_live AND job.run_at <= due_range.until
        ORDER BY job.run_at
        LIMIT due_range.most
    ) AS entry
) AS counted
ORDER BY due_range.number
