-- The earliest waiting time of one lane and priority: one seek.
-- Parameters: 1 lane, 2 priority. Rows: run_at, null if none waits. Locks: read.
SELECT min(run_at) FROM steadfast_job WHERE state = 0 AND lane = ?1 AND priority = ?2
