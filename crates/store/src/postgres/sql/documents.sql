-- All documents of a space.
-- Parameters: 1 space. Rows: id, body, revision, by id. Locks: none.
SELECT id, body, revision FROM steadfast.document WHERE space = $1 ORDER BY id
