-- Replaces a document, if its revision is the one given.
-- Parameters: 1 kind, 2 id, 3 body, 4 revision. Rows: id, if it was replaced. Locks: the row.
UPDATE steadfast.document SET body = $3, revision = revision + 1
WHERE space = $1 AND id = $2 AND revision = $4
RETURNING id
