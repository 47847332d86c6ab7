-- The waiting jobs of one sublane and level, the earliest first, whether due or not.
-- Parameters: 1 lane, 2 sublane, 3 level, 4 limit. Rows: job_row. Locks: read.
SELECT * FROM steadfast_job_row
WHERE
    state = 0 AND lane = ?1 AND coalesce(sublane, 0) = ?2
    AND priority * 2 + (attempt > attempts_before) = ?3
ORDER BY run_at
LIMIT ?4
