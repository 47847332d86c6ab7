-- Of the first due jobs of ranges, the earliest that is tried again if it fails; if one is named, that
-- one or none.
-- Parameters: 1 now or null, 2 lanes, 3 sublanes, 4 levels, 5 the earliest times to look at, 6 the
-- only jobs, or null, 7 how many to look at in each range.
-- Rows: number, id, for ranges that have one. Locks: none.
SELECT strip.number, first.id
FROM unnest($2::bigint[], $3::bigint[], $4::integer[], $5::bigint[], $6::uuid[])
    WITH ORDINALITY AS strip (lane, sublane, level, low, chosen, number)
CROSS JOIN LATERAL (
    SELECT due.id FROM (
        SELECT
            job.id, job.run_at,
            job.at_most_once OR (
                job.start_before <= steadfast.time($1) AND job.attempt = 0 AND job.snoozes = 0
            ) IS TRUE AS may_not_probe
        FROM steadfast.job
        WHERE
            job.state = 0 AND job.lane = strip.lane AND job.sublane = strip.sublane
            AND job.level = strip.level
            AND job.run_at >= strip.low AND job.run_at <= steadfast.time($1)
        ORDER BY job.run_at
        LIMIT $7::bigint
    ) AS due
    WHERE NOT due.may_not_probe AND (strip.chosen IS NULL OR due.id = strip.chosen)
    ORDER BY due.run_at
    LIMIT 1
) AS first
