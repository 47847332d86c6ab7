-- Of the first due jobs of ranges the ones that may be probes: the earliest that is tried again if it
-- fails, or else that is not; if one is named, that one or none.
-- Parameters: 1 now or null, 2 lanes, 3 flow keys, 4 levels, 5 the earliest times to look at, 6 the
-- only jobs, or null, 7 how many to look at in each range, 8 whether jobs that start at most once may
-- be probes.
-- Rows: number, id, for ranges that have one. Locks: none.
SELECT due_range.number, first.id
FROM unnest($2::bigint[], $3::bigint[], $4::integer[], $5::bigint[], $6::uuid[], $8::boolean[])
    WITH ORDINALITY AS due_range (lane, flow_key, level, oldest_live, chosen, at_most_once, number)
CROSS JOIN LATERAL (
    SELECT due.id FROM (
        SELECT
            job.id, job.run_at, job.at_most_once,
            job.at_most_once AND NOT due_range.at_most_once OR (
                job.start_before <= (SELECT steadfast.time($1)) AND job.attempt = 0 AND job.snoozes = 0
            ) IS TRUE AS may_not_probe
        FROM steadfast.job_hot AS job
        WHERE
            job.state = 0 AND job.lane = due_range.lane AND job.flow_key = due_range.flow_key
            AND job.level = due_range.level
            AND job.run_at >= due_range.oldest_live AND job.run_at <= (SELECT steadfast.time($1))
        ORDER BY job.run_at
        LIMIT $7::bigint
    ) AS due
    WHERE NOT due.may_not_probe AND (due_range.chosen IS NULL OR due.id = due_range.chosen)
    ORDER BY due.at_most_once, due.run_at
    LIMIT 1
) AS first
