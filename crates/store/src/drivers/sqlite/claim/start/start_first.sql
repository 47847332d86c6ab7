-- The first job of one sublane and level.
-- Parameters: 1 lane, 2 sublane, 3 level. Rows: id, run_at, at most one. Locks: read.
SELECT id, run_at FROM steadfast_job
WHERE
    state = 0 AND lane = ?1 AND sublane = ?2
    AND level = ?3
ORDER BY run_at
LIMIT 1
