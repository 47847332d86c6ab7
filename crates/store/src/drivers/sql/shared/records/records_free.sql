-- Records by their ids. On PostgreSQL, those that another transaction is changing are left out.
-- Parameters: 1 kind, the others ids. Rows: id, revision, body. Locks: the rows.
SELECT id, revision, body FROM steadfast_record
WHERE kind = ?1 AND id IN /*ids*/
ORDER BY id
/*lock free*/
