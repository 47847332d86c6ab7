-- How many jobs of a lane wait for a retry at a time within a range, counting no further than
-- a limit.
-- Parameters: 1 lane, 2 from, 3 before, 4 limit. Rows: count. Locks: read.
SELECT count(*) FROM (
    SELECT 1 FROM steadfast_job
    WHERE
        state = 0 AND attempt > attempts_before AND lane = ?1 AND run_at >= ?2 AND run_at < ?3
    LIMIT ?4
)
