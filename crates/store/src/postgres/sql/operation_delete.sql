-- Deletes an operation.
-- Parameters: 1 id. Rows: none. Locks: the row.
DELETE FROM steadfast.operation WHERE id = $1
