-- Deletes a document that is as it was read.
-- Parameters: 1 kind, 2 id, 3 revision. Rows: none; one change if it was so. Locks: write.
DELETE FROM steadfast_document WHERE space = ?1 AND id = ?2 AND revision = ?3
