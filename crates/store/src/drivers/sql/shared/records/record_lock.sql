-- One record that is about to be changed.
-- Parameters: 1 kind, 2 id. Rows: id, revision, body, at most one. Locks: the row.
SELECT id, revision, body FROM steadfast_record WHERE kind = ?1 AND id = ?2 /*lock*/
