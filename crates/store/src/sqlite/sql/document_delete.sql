-- Deletes a document.
-- Parameters: 1 kind, 2 id. Rows: none; one change if it was there. Locks: write.
DELETE FROM steadfast_document WHERE space = ?1 AND id = ?2
