-- Takes the jobs that batches are to make now.
-- Parameters: 1 batches, 2 the callback of each. Rows: template. Locks: the rows.
DELETE FROM steadfast.batch_callback
USING unnest($1::uuid[], $2::smallint[]) AS due (batch, callback)
WHERE batch_callback.batch = due.batch AND batch_callback.callback = due.callback
RETURNING batch_callback.template
