-- Lanes that no request has used for long.
-- Parameters: 1 used before, 2 above which there must be so many, 3 limit. Rows: id. Locks: none.
SELECT id FROM steadfast.lane
WHERE used_at < $1 AND (SELECT count(*) FROM steadfast.lane) > $2::bigint
LIMIT $3
