-- The earliest waiting job of the next flow key and level of a lane that has any: two seeks.
-- Parameters: 1 lane, 2 flow key, 3 level, after which to look. Rows: flow key, level, run_at.
-- Locks: read.
SELECT * FROM (
    SELECT
        flow_key, level,
        run_at
    FROM steadfast_job
    WHERE
        state = 0 AND lane = ?1 AND flow_key = ?2
        AND level > ?3
    ORDER BY level, run_at
    LIMIT 1
)
UNION ALL
SELECT * FROM (
    SELECT
        flow_key, level,
        run_at
    FROM steadfast_job
    WHERE state = 0 AND lane = ?1 AND flow_key > ?2
    ORDER BY flow_key, level, run_at
    LIMIT 1
)
LIMIT 1
