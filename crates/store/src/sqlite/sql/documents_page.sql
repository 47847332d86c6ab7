-- Documents of a kind whose ids begin with a prefix.
-- Parameters: 1 kind, 2 prefix, 3 what is above all such ids, 4 the id before, 5 limit. Rows: id, body,
-- revision, by id. Locks: read.
SELECT id, body, revision FROM steadfast_document
WHERE space = ?1 AND id >= ?2 AND id < ?3 AND id > ?4
ORDER BY id
LIMIT ?5
