-- Jobs that never started and may not start any more, the longest late first.
-- Parameters: 1 now, 2 limit. Rows: id. Locks: read.
SELECT id FROM steadfast_job INDEXED BY steadfast_job_start_before
WHERE start_before <= ?1 AND start_before IS NOT NULL AND state = 0 AND attempt = 0 AND snoozes = 0
ORDER BY start_before
LIMIT ?2
