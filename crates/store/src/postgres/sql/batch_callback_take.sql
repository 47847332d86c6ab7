-- Takes a job that a batch is to make now.
-- Parameters: 1 batch, 2 callback. Rows: template, at most one. Locks: the row.
DELETE FROM steadfast.batch_callback WHERE batch = $1 AND callback = $2 RETURNING template
