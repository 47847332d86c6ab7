-- Of the first waiting jobs of one flow key and level, whether due or not, the earliest that is tried
-- again if it fails.
-- Parameters: 1 lane, 2 flow key, 3 level, 4 how many to look at, 5 now: what may not start
-- any more is left out. Rows: job_row, at most one. Locks: read.
SELECT * FROM (
    SELECT * FROM steadfast_job_row
    WHERE
        state = 0 AND lane = ?1 AND flow_key = ?2
        AND level = ?3
        AND (start_before IS NULL OR start_before > ?5 OR attempt > 0 OR snoozes > 0)
    ORDER BY run_at
    LIMIT ?4
)
WHERE at_most_once = 0
ORDER BY run_at
LIMIT 1
