-- One document.
-- Parameters: 1 kind, 2 id. Rows: id, body, revision, at most one. Locks: none.
SELECT id, body, revision FROM steadfast.document WHERE space = $1 AND id = $2
