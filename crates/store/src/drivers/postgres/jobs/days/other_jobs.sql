-- Moves ended jobs whose day has no partition to those without a day.
-- Parameters: 1 limit. Rows: one, how many. Locks: the rows, as far as they are free.
WITH other AS MATERIALIZED (SELECT id, day FROM steadfast.job_other LIMIT $1 FOR UPDATE SKIP LOCKED),
moved AS (
    UPDATE steadfast.job SET day = 0 FROM other
    WHERE job.id = other.id AND job.day = other.day
    RETURNING 1
)
SELECT count(*) AS moved FROM moved
