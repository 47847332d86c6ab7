-- Deletes a document.
-- Parameters: 1 kind, 2 id. Rows: id, if it was there. Locks: the row.
DELETE FROM steadfast.document WHERE space = $1 AND id = $2 RETURNING id
