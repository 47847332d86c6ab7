-- Operations of a tenant, newest first.
-- Parameters: 1 those before this id, 2 tenant, 3 limit. Rows: id, revision, body. Locks: none.
SELECT id, revision, body FROM steadfast.operation
WHERE id < $1 AND tenant = $2
ORDER BY id DESC
LIMIT $3
