-- One document.
-- Parameters: 1 kind, 2 id. Rows: id, body, revision, at most one. Locks: read.
SELECT id, body, revision FROM steadfast_document WHERE space = ?1 AND id = ?2
