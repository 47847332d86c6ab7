-- Deletes an operation.
-- Parameters: 1 id. Rows: none. Locks: write.
DELETE FROM steadfast_operation WHERE id = ?1
