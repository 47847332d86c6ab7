-- One record.
-- Parameters: 1 kind, 2 id. Rows: id, revision, body, at most one. Locks: none.
SELECT id, revision, body FROM steadfast_record WHERE kind = ?1 AND id = ?2
