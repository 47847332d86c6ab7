-- Retry policies.
-- Parameters: 1 ids. Rows: id, body. Locks: none.
SELECT id, body FROM steadfast.policy WHERE id = ANY($1::bigint[])
