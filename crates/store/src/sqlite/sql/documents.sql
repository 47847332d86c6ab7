-- All documents of a kind.
-- Parameters: 1 kind. Rows: id, body, revision, by id. Locks: read.
SELECT id, body, revision FROM steadfast_document WHERE space = ?1 ORDER BY id
