-- Records, the highest id first.
-- Parameters: 1 kind, 2 below this id, 3 limit. Rows: id, revision, body. Locks: none.
SELECT id, revision, body FROM steadfast_record
WHERE kind = ?1 AND id < ?2
ORDER BY id DESC
LIMIT ?3
