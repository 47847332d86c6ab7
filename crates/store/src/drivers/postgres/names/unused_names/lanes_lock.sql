-- Locks lanes that have been unused for a day, if nothing else holds them.
-- Parameters: 1 unused since this time, 2 keep at least this many lanes, 3 limit. Rows: id. Locks: the rows.
SELECT id FROM steadfast.lane
WHERE unused_since <= $1 AND (SELECT count(*) FROM steadfast.lane) > $2::bigint
ORDER BY id
LIMIT $3
FOR UPDATE SKIP LOCKED
