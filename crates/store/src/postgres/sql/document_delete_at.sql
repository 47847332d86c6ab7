-- Deletes a document that is as it was read.
-- Parameters: 1 kind, 2 id, 3 revision. Rows: id, if it was so. Locks: the row.
DELETE FROM steadfast.document WHERE space = $1 AND id = $2 AND revision = $3 RETURNING id
