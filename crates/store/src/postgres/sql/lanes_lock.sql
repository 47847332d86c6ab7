-- Holds lanes that may be deleted, as far as nothing else holds them.
-- Parameters: 1 lanes, 2 used before. Rows: id. Locks: the rows.
SELECT id FROM steadfast.lane WHERE id = ANY($1::integer[]) AND used_at < $2
ORDER BY id
FOR UPDATE SKIP LOCKED
