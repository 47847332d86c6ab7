-- How many jobs of a lane wait for a retry that is not due yet.
-- Parameters: 1 lane, 2 now. Rows: count. Locks: read.
SELECT count(*) FROM steadfast_job
WHERE state = 0 AND attempt > attempts_before AND lane = ?1 AND run_at > ?2
