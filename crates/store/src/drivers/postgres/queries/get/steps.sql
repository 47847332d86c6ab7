-- The finished steps of a job, by the bytes of their names: all, or one.
-- Parameters: 1 job id, 2 step or null for all, 3 limit. Rows: step, result. Locks: none.
SELECT step, result FROM steadfast.once
WHERE job = $1 AND ($2::text IS NULL OR step = $2)
ORDER BY step COLLATE "C" LIMIT $3
