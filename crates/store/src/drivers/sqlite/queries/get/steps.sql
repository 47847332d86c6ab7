-- The finished steps of a job: all, or one.
-- Parameters: 1 job id, 2 step or null for all, 3 limit. Rows: step, result. Locks: read.
SELECT step, result FROM steadfast_once
WHERE job = ?1 AND (?2 IS NULL OR step = ?2)
ORDER BY step LIMIT ?3
