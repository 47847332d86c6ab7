-- Operations, newest first.
-- Parameters: 1 those before this id, 2 tenant or null, 3 limit. Rows: id, revision, body. Locks: read.
SELECT id, revision, body FROM steadfast_operation
WHERE id < ?1 AND (?2 IS NULL OR tenant = ?2)
ORDER BY id DESC
LIMIT ?3
