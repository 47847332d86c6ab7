-- When the next of the requested jobs becomes due: the earliest head of their ranges. Priorities
-- go up to PRIORITY_MAX.
-- Parameters: 1 tenant or null, 2 queues, 3 kinds, where empty means any, 4 kinds that are not
-- asked for. Rows: one, run_at, null if none waits. Locks: none.
SELECT min(head.run_at) AS run_at
FROM steadfast.lane
CROSS JOIN LATERAL (
    SELECT 1 FROM steadfast.job WHERE job.state = 0 AND job.lane = lane.id LIMIT 1
) AS something
CROSS JOIN generate_series(0, 9) AS level (priority)
CROSS JOIN LATERAL (
    SELECT job.run_at FROM steadfast.job
    WHERE job.state = 0 AND job.lane = lane.id AND job.priority = level.priority
    ORDER BY job.run_at
    LIMIT 1
) AS head
WHERE
    ($1::text IS NULL OR lane.tenant = $1)
    AND (cardinality($2::text[]) = 0 OR lane.queue = ANY($2))
    AND (cardinality($3::text[]) = 0 OR lane.kind = ANY($3))
    AND lane.kind <> ALL($4::text[])
    AND NOT EXISTS (
        SELECT 1 FROM steadfast.paused
        WHERE paused.tenant = lane.tenant AND paused.queue = lane.queue
    )
