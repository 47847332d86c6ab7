-- The waiting jobs of a lane, which are few, in no order.
-- Parameters: 1 ids below this, 2 limit, 3 lane. Rows: as named. Locks: read.
SELECT seq, id, lane, state, run_at, attempt > attempts_before AS is_retry, created_at, reason,
    failure IS NOT NULL AS has_failure
FROM steadfast_job INDEXED BY steadfast_job_waiting
WHERE state = 0 AND lane = ?3 AND id < ?1
LIMIT ?2
