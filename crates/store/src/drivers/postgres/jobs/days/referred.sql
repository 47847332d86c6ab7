-- Jobs of a day that other tables refer to by more than their id.
-- Parameters: 1 day, 2 limit. Rows: id. Locks: none.
SELECT id FROM steadfast.job
WHERE day = $1 AND (tags IS NOT NULL OR links IS NOT NULL OR idempotency_key IS NOT NULL)
LIMIT $2
