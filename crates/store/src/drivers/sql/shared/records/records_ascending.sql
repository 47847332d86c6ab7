-- Records whose ids begin with a prefix, the lowest id first.
-- Parameters: 1 kind, 2 prefix, 3 above all that begin with it, 4 after this id, 5 limit. Rows: id,
-- revision, body. Locks: none.
SELECT id, revision, body FROM steadfast_record
WHERE kind = ?1 AND id >= ?2 AND id < ?3 AND id > ?4
ORDER BY id
LIMIT ?5
