-- The earliest waiting job of the next sublane and level of a lane that has any: two seeks.
-- Parameters: 1 lane, 2 sublane, 3 level, after which to look. Rows: sublane, level, run_at.
-- Locks: read.
SELECT * FROM (
    SELECT
        coalesce(sublane, 0) AS sublane, priority * 2 + (attempt > attempts_before) AS level,
        run_at
    FROM steadfast_job
    WHERE
        state = 0 AND lane = ?1 AND coalesce(sublane, 0) = ?2
        AND priority * 2 + (attempt > attempts_before) > ?3
    ORDER BY priority * 2 + (attempt > attempts_before), run_at
    LIMIT 1
)
UNION ALL
SELECT * FROM (
    SELECT
        coalesce(sublane, 0) AS sublane, priority * 2 + (attempt > attempts_before) AS level,
        run_at
    FROM steadfast_job
    WHERE state = 0 AND lane = ?1 AND coalesce(sublane, 0) > ?2
    ORDER BY coalesce(sublane, 0), priority * 2 + (attempt > attempts_before), run_at
    LIMIT 1
)
LIMIT 1
