-- Of the first waiting jobs of one flow key and level the one that may be a probe: of those that are due,
-- or of all if none is, the earliest that is tried again if it fails, or else that is not.
-- Parameters: 1 lane, 2 flow key, 3 level, 4 how many to look at, 5 now: what may not start
-- any more is left out, 6 whether jobs that start at most once may be probes.
-- Rows: job_row, at most one. Locks: read.
SELECT * FROM (
    SELECT * FROM steadfast_job_row
    WHERE
        state = 0 AND lane = ?1 AND flow_key = ?2
        AND level = ?3
        AND (start_before IS NULL OR start_before > ?5 OR attempt > 0 OR snoozes > 0)
    ORDER BY run_at
    LIMIT ?4
)
WHERE at_most_once <= ?6
ORDER BY run_at > ?5, at_most_once, run_at
LIMIT 1
