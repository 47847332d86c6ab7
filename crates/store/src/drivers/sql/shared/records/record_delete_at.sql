-- Deletes a record that has a given revision.
-- Parameters: 1 kind, 2 id, 3 revision. Rows: none. Locks: the row.
DELETE FROM steadfast_record WHERE kind = ?1 AND id = ?2 AND revision = ?3
