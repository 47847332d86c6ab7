-- Records in a state whose time is before another, the earliest first. On PostgreSQL, those that another
-- transaction is changing are left out.
-- Parameters: 1 kind, 2 state, 3 time, 4 limit. Rows: id, revision, body. Locks: the rows.
SELECT id, revision, body FROM steadfast_record
WHERE kind = ?1 AND state = ?2 AND at < ?3
ORDER BY at, id
LIMIT ?4
/*lock free*/
