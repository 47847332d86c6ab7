-- Creates a document, unless it is there.
-- Parameters: 1 kind, 2 id, 3 body. Rows: id, if it was created. Locks: the new row; one that
-- another transaction is creating is waited for.
INSERT INTO steadfast.document (space, id, body, revision) VALUES ($1, $2, $3, 1)
ON CONFLICT DO NOTHING
RETURNING id
