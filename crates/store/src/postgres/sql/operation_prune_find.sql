-- An operation that ended before a time.
-- Parameters: 1 the time. Rows: id, at most one. Locks: none.
SELECT id FROM steadfast.operation
WHERE NOT is_open AND finished_at < $1
ORDER BY finished_at
LIMIT 1
