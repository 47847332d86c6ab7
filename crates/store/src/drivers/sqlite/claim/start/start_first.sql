-- The first job of one flow key and level.
-- Parameters: 1 lane, 2 flow key, 3 level. Rows: id, run_at, at most one. Locks: read.
SELECT id, run_at FROM steadfast_job
WHERE
    state = 0 AND lane = ?1 AND flow_key = ?2
    AND level = ?3
ORDER BY run_at
LIMIT 1
