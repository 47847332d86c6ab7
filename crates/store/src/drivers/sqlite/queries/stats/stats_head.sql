-- The earliest waiting job of the next sublane and level of a lane that has any: two seeks.
-- Parameters: 1 lane, 2 sublane, 3 level, after which to look. Rows: sublane, level, run_at.
-- Locks: read.
SELECT * FROM (
    SELECT
        sublane, level,
        run_at
    FROM steadfast_job
    WHERE
        state = 0 AND lane = ?1 AND sublane = ?2
        AND level > ?3
    ORDER BY level, run_at
    LIMIT 1
)
UNION ALL
SELECT * FROM (
    SELECT
        sublane, level,
        run_at
    FROM steadfast_job
    WHERE state = 0 AND lane = ?1 AND sublane > ?2
    ORDER BY sublane, level, run_at
    LIMIT 1
)
LIMIT 1
