-- Forgets what has happened to jobs of a batch, once it is counted.
-- Parameters: 1 numbers. Rows: none. Locks: the rows.
DELETE FROM steadfast.batch_note WHERE seq = ANY($1)
