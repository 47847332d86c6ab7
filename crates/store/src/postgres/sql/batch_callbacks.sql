-- The jobs that a batch is to make.
-- Parameters: 1 batch. Rows: template. Locks: none.
SELECT template FROM steadfast.batch_callback WHERE batch = $1
