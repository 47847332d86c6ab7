-- Deletes retry policies, which no job has.
-- Parameters: 1 policies, which are held. Rows: one, deleted. Locks: the rows.
WITH gone AS (DELETE FROM steadfast.policy WHERE id = ANY($1::integer[]) RETURNING 1)
SELECT count(*) AS deleted FROM gone
