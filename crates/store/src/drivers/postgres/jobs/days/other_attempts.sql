-- The same for attempts.
-- Parameters: 1 limit. Rows: one, how many. Locks: the rows, as far as they are free.
WITH other AS MATERIALIZED (SELECT job, fence, day FROM steadfast.attempt_other LIMIT $1 FOR UPDATE SKIP LOCKED),
moved AS (
    UPDATE steadfast.attempt SET day = 0 FROM other
    WHERE attempt.job = other.job AND attempt.fence = other.fence AND attempt.day = other.day
    RETURNING 1
)
SELECT count(*) AS moved FROM moved
