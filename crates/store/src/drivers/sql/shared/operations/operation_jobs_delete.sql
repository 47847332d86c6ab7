-- Deletes jobs of an operation.
-- Parameters: 1 operation, 2 limit. Rows: none. Locks: the rows.
DELETE FROM steadfast_operation_job WHERE operation = ?1 AND job IN (
    SELECT job FROM steadfast_operation_job WHERE operation = ?1 LIMIT ?2
)
