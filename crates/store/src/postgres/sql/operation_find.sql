-- One operation.
-- Parameters: 1 id. Rows: revision, body, at most one. Locks: none.
SELECT id, revision, body FROM steadfast.operation WHERE id = $1
