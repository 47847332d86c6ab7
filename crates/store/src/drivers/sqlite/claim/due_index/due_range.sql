-- The next sublane and level in which a job waits, with the earliest one: a few seeks.
-- Parameters: 1 lane, 2 sublane, 3 level, after which to look. Rows: as named, at most one.
-- Locks: read.
SELECT * FROM (
    SELECT
        lane, sublane,
        level, run_at, destination, concurrency_key
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
        lane, sublane,
        level, run_at, destination, concurrency_key
    FROM steadfast_job
    WHERE state = 0 AND lane = ?1 AND sublane > ?2
    ORDER BY sublane, level, run_at
    LIMIT 1
)
UNION ALL
SELECT * FROM (
    SELECT
        lane, sublane,
        level, run_at, destination, concurrency_key
    FROM steadfast_job
    WHERE state = 0 AND lane > ?1
    ORDER BY lane, sublane, level, run_at
    LIMIT 1
)
LIMIT 1
