-- Stores the result of a step, unless there is one, or no such job.
-- Parameters: 1 job id, 2 step, 3 result. Rows: none. Locks: the new row; one that another
-- transaction is keeping is waited for.
INSERT INTO steadfast.once (job, step, result)
SELECT $1, $2, $3 FROM steadfast.job WHERE id = $1
ON CONFLICT DO NOTHING
