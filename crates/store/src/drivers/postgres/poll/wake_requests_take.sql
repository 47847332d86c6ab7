-- Takes messages that transactions of others have left, if no other node takes them.
-- Parameters: 1 the number to search after, 2 limit. Rows: id, message. Locks: the rows.
DELETE FROM steadfast.wake_request
WHERE id = ANY(ARRAY(
    SELECT id FROM steadfast.wake_request WHERE id > $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
))
RETURNING id, message
