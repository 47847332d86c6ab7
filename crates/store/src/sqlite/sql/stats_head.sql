-- The earliest waiting job of the next priority of a lane that has any: one seek.
-- Parameters: 1 lane, 2 priorities above this. Rows: priority, run_at. Locks: read.
SELECT priority, run_at FROM steadfast_job
WHERE state = 0 AND lane = ?1 AND priority > ?2
ORDER BY priority, run_at
LIMIT 1
