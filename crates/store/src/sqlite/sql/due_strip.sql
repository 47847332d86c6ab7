-- The next sublane and level in which a job waits, with the earliest one: a few seeks.
-- Parameters: 1 lane, 2 sublane, 3 level, after which to look. Rows: as named, at most one.
-- Locks: read.
SELECT * FROM (
    SELECT
        lane, coalesce(sublane, 0) AS sublane,
        priority * 2 + (attempt > attempts_before) AS level, run_at, destination, concurrency_key
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
        lane, coalesce(sublane, 0) AS sublane,
        priority * 2 + (attempt > attempts_before) AS level, run_at, destination, concurrency_key
    FROM steadfast_job
    WHERE state = 0 AND lane = ?1 AND coalesce(sublane, 0) > ?2
    ORDER BY coalesce(sublane, 0), priority * 2 + (attempt > attempts_before), run_at
    LIMIT 1
)
UNION ALL
SELECT * FROM (
    SELECT
        lane, coalesce(sublane, 0) AS sublane,
        priority * 2 + (attempt > attempts_before) AS level, run_at, destination, concurrency_key
    FROM steadfast_job
    WHERE state = 0 AND lane > ?1
    ORDER BY lane, coalesce(sublane, 0), priority * 2 + (attempt > attempts_before), run_at
    LIMIT 1
)
LIMIT 1
