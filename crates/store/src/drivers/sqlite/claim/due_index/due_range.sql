-- The next flow key and level in which a job waits, with the earliest one: a few seeks.
-- Parameters: 1 lane, 2 flow key, 3 level, after which to look. Rows: as named, at most one.
-- Locks: read.
SELECT * FROM (
    SELECT
        lane, flow_key,
        level, run_at, destination, concurrency_key
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
        lane, flow_key,
        level, run_at, destination, concurrency_key
    FROM steadfast_job
    WHERE state = 0 AND lane = ?1 AND flow_key > ?2
    ORDER BY flow_key, level, run_at
    LIMIT 1
)
UNION ALL
SELECT * FROM (
    SELECT
        lane, flow_key,
        level, run_at, destination, concurrency_key
    FROM steadfast_job
    WHERE state = 0 AND lane > ?1
    ORDER BY lane, flow_key, level, run_at
    LIMIT 1
)
LIMIT 1
