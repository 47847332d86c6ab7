-- The steps of a job that were done, by the bytes of their names.
-- Parameters: 1 job id, 2 limit. Rows: step, result. Locks: none.
SELECT step, result FROM steadfast.once WHERE job = $1 ORDER BY step COLLATE "C" LIMIT $2
