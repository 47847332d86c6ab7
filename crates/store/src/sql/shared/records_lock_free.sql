-- Records that no other transaction has locked.
-- Parameters: 1 kind, then ids. Rows: id, revision, body. Locks: the rows.
SELECT id, revision, body FROM steadfast_record WHERE kind = ?1 AND id IN (/*list*/) ORDER BY id /*skip*/
