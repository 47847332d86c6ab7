-- The earliest waiting time of one sublane and level: one seek.
-- Parameters: 1 lane, 2 sublane, 3 level. Rows: run_at, null if none waits. Locks: read.
SELECT min(run_at) FROM steadfast_job
WHERE
    state = 0 AND lane = ?1 AND coalesce(sublane, 0) = ?2
    AND priority * 2 + (attempt > attempts_before) = ?3
