-- Operations that have not ended, newest first.
-- Parameters: 1 those before this id, 2 tenant or null, 3 limit. Rows: id, revision, body. Locks: none.
SELECT id, revision, body FROM steadfast.operation
WHERE is_open AND id < $1 AND ($2::text IS NULL OR tenant = $2)
ORDER BY id DESC
LIMIT $3
