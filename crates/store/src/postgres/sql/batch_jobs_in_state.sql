-- The jobs of a batch in a state, newest first.
-- Parameters: 1 batch, 2 those before this id, 3 limit, 4 state. Rows: job. Locks: none.
SELECT job FROM steadfast.batch_job
WHERE batch = $1 AND state = $4 AND job < $2
ORDER BY job DESC
LIMIT $3
