-- The earliest waiting time of one flow key and level: one seek.
-- Parameters: 1 lane, 2 flow key, 3 level. Rows: run_at, null if none waits. Locks: read.
SELECT min(run_at) FROM steadfast_job
WHERE
    state = 0 AND lane = ?1 AND flow_key = ?2
    AND level = ?3
