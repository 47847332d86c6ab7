-- Deletes a record.
-- Parameters: 1 kind, 2 id. Rows: none. Locks: the row.
DELETE FROM steadfast_record WHERE kind = ?1 AND id = ?2
