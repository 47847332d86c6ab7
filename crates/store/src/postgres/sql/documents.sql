-- All documents of a kind.
-- Parameters: 1 kind. Rows: id, body, revision, by id. Locks: none.
SELECT id, body, revision FROM steadfast.document WHERE space = $1 ORDER BY id
