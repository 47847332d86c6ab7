-- What the first due jobs of ranges cost, in the order in which a claim takes them; if a job is named,
-- that one or none. Jobs that others hold are among them.
-- Parameters: 1 now or null, 2 lanes, 3 flow keys, 4 levels, 5 the earliest times to look at, 6 the
-- only jobs, or null, 7 how many of each range.
-- Rows: number, place, extras. Locks: none.
SELECT due_range.number, due.place, due.extras
FROM unnest($2::bigint[], $3::bigint[], $4::integer[], $5::bigint[], $6::uuid[], $7::bigint[])
    WITH ORDINALITY AS due_range (lane, flow_key, level, oldest_live, chosen, most, number)
CROSS JOIN LATERAL (
    SELECT job.extras, row_number() OVER (ORDER BY job.run_at) AS place
    FROM steadfast.job
    WHERE
        due_range.chosen IS NULL
        AND job.state = 0 AND job.lane = due_range.lane AND job.flow_key = due_range.flow_key
        AND job.level = due_range.level
        AND job.run_at >= due_range.oldest_live AND job.run_at <= (SELECT steadfast.time($1))
        AND (
            job.start_before IS NULL OR job.start_before > (SELECT steadfast.time($1))
            OR job.attempt > 0 OR job.snoozes > 0
        )
    ORDER BY job.run_at
    LIMIT due_range.most
) AS due
UNION ALL
SELECT due_range.number, 1, job.extras
FROM unnest($2::bigint[], $6::uuid[]) WITH ORDINALITY AS due_range (lane, chosen, number)
JOIN steadfast.job ON job.id = due_range.chosen
ORDER BY number, place
