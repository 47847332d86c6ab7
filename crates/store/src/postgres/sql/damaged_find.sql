-- Jobs that wait for the end of time, because a claim could not read them: ten searches for each
-- lane.
-- Parameters: 1 the end of time, 2 limit. Rows: id. Locks: none.
SELECT found.id
FROM steadfast.lane
CROSS JOIN generate_series(0, 9) AS each (priority)
CROSS JOIN LATERAL (
    SELECT job.id FROM steadfast.job
    WHERE
        job.state = 0 AND job.lane = lane.id AND job.priority = each.priority::smallint
        AND job.run_at = $1
    LIMIT $2
) AS found
LIMIT $2
