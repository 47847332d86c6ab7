-- An operation that ended before a time.
-- Parameters: 1 the time. Rows: id, at most one. Locks: read.
SELECT id FROM steadfast_operation INDEXED BY steadfast_operation_age
WHERE is_open = 0 AND finished_at < ?1
ORDER BY finished_at
LIMIT 1
