-- One operation.
-- Parameters: 1 id. Rows: revision, body, at most one. Locks: read.
SELECT id, revision, body FROM steadfast_operation WHERE id = ?1
