-- How many jobs of a lane and priority wait for a time within a range, counting no further
-- than a limit.
-- Parameters: 1 lane, 2 priority, 3 from, 4 before, 5 limit. Rows: count. Locks: read.
SELECT count(*) FROM (
    SELECT 1 FROM steadfast_job
    WHERE state = 0 AND lane = ?1 AND priority = ?2 AND run_at >= ?3 AND run_at < ?4
    LIMIT ?5
)
