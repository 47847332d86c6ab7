-- Replaces an operation.
-- Parameters: 1 id, 2 whether it is open, 3 when it ended, 4 revision, 5 body. Rows: none.
-- Locks: the row.
UPDATE steadfast.operation SET is_open = $2, finished_at = $3, revision = $4, body = $5
WHERE id = $1
