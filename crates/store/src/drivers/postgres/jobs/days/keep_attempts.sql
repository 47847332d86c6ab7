-- Moves the attempts of a day that belong to jobs that stay to those without a day.
-- Parameters: 1 day, 2 jobs behind this id, 3 before this id, 4 limit. Rows: one, the last of these jobs, or
-- null. Locks: the rows.
WITH kept AS MATERIALIZED (
    SELECT id FROM steadfast.job WHERE day <= 0 AND id > $2 AND id < $3 ORDER BY id LIMIT $4
),
moved AS (
    UPDATE steadfast.attempt SET day = 0 FROM kept
    WHERE attempt.day = $1 AND attempt.job = kept.id
    RETURNING 1
)
SELECT (SELECT id FROM kept ORDER BY id DESC LIMIT 1) AS last, (SELECT count(*) FROM moved) AS moved
