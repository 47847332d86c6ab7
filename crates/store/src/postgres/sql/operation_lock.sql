-- One operation, for a change.
-- Parameters: 1 id. Rows: id, revision, body, at most one. Locks: the row.
SELECT id, revision, body FROM steadfast.operation WHERE id = $1 FOR UPDATE
