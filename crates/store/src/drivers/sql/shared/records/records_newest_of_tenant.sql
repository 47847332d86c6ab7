-- Records of a tenant, the highest id first.
-- Parameters: 1 kind, 2 below this id, 3 limit, 4 tenant. Rows: id, revision, body. Locks: none.
SELECT id, revision, body FROM steadfast_record
WHERE kind = ?1 AND tenant = ?4 AND id < ?2
ORDER BY id DESC
LIMIT ?3
