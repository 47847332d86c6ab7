-- Deletes jobs of an operation.
-- Parameters: 1 operation, 2 limit. Rows: one, deleted. Locks: the rows.
WITH gone AS (
    DELETE FROM steadfast.operation_job WHERE operation = $1 AND job = ANY(ARRAY(
        SELECT job FROM steadfast.operation_job WHERE operation = $1 LIMIT $2
    ))
    RETURNING 1
)
SELECT count(*) AS deleted FROM gone
