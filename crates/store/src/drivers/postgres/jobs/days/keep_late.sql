-- Moves jobs that retention keeps, although it drops the rest of their day, to those without a day.
-- Parameters: 1 day, 2 ended or discarded since, 3 limit. Rows: one, how many. Locks: the rows.
WITH ended AS MATERIALIZED (
    SELECT id FROM steadfast.job
    WHERE day = $1 AND state IN (2, 4) AND finished_at >= $2
    ORDER BY finished_at
    LIMIT $3
    FOR UPDATE
),
discarded AS MATERIALIZED (
    SELECT id FROM steadfast.job
    WHERE day = $1 AND resolved_at IS NOT NULL AND resolved_at >= $2
    ORDER BY resolved_at
    LIMIT $3 - (SELECT count(*) FROM ended)
    FOR UPDATE
),
late AS MATERIALIZED (SELECT id FROM ended UNION ALL SELECT id FROM discarded),
moved AS (
    UPDATE steadfast.job SET day = 0 FROM late
    WHERE job.id = late.id AND job.day = $1
    RETURNING 1
)
SELECT count(*) AS moved FROM moved
