-- Forgets what has happened to jobs of a batch that is not there.
-- Parameters: 1 batch. Rows: none. Locks: the rows.
DELETE FROM steadfast.batch_note
WHERE batch = $1 AND NOT EXISTS (SELECT 1 FROM steadfast.batch WHERE id = $1)
