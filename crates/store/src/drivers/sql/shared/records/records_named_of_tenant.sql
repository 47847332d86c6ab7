-- The record of a tenant that has a name.
-- Parameters: 1 kind, 2 below this id, 3 limit, 4 name, 5 tenant. Rows: id, revision, body, at most one.
-- Locks: none.
SELECT id, revision, body FROM steadfast_record
WHERE kind = ?1 AND name = ?4 AND tenant = ?5 AND id < ?2
LIMIT ?3
