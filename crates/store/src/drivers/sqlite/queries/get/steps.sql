-- The steps of a job that were done.
-- Parameters: 1 job id, 2 limit. Rows: step, result. Locks: read.
SELECT step, result FROM steadfast_once WHERE job = ?1 ORDER BY step LIMIT ?2
