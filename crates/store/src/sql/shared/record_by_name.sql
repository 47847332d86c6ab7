-- The record of a name.
-- Parameters: 1 kind, 2 tenant, 3 name. Rows: id, revision, body, at most one. Locks: none.
SELECT id, revision, body FROM steadfast_record WHERE kind = ?1 AND tenant = ?2 AND name = ?3
