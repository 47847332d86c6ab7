-- Due jobs of one lane and priority, the earliest first.
-- Parameters: 1 lane, 2 priority, 3 due until, 4 limit. Rows: job_row. Locks: read.
SELECT * FROM steadfast_job_row
WHERE state = 0 AND lane = ?1 AND priority = ?2 AND run_at <= ?3
ORDER BY run_at
LIMIT ?4
