-- Moves jobs out of the hot ones that ended where they were: by a command, as a prerequisite, by being
-- discarded.
-- Parameters: 1 ended or discarded before, 2 limit. Rows: one, how many. Locks: the rows, as far as they
-- are free.
WITH open_days AS MATERIALIZED (SELECT min(day) AS first, max(day) AS last FROM steadfast.job_day WHERE is_open),
ended AS MATERIALIZED (
    SELECT id FROM steadfast.job_hot
    WHERE state IN (2, 4) AND finished_at < $1
    ORDER BY finished_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
discarded AS MATERIALIZED (
    SELECT id FROM steadfast.job_hot
    WHERE resolved_at IS NOT NULL AND resolved_at < $1 AND state = 3
    ORDER BY resolved_at
    LIMIT $2 - (SELECT count(*) FROM ended)
    FOR UPDATE SKIP LOCKED
),
old AS MATERIALIZED (SELECT id FROM ended UNION ALL SELECT id FROM discarded),
moved AS (
    UPDATE steadfast.job SET
        day = CASE
            WHEN steadfast.day_of(job.id) BETWEEN (SELECT first FROM open_days) AND (SELECT last FROM open_days)
                THEN steadfast.day_of(job.id)
            ELSE 0
        END
    FROM old
    WHERE job.id = old.id AND job.day = -1
    RETURNING 1
)
SELECT count(*) AS moved FROM moved
