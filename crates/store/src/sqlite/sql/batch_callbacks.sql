-- The jobs that a batch is to make.
-- Parameters: 1 batch. Rows: template. Locks: read.
SELECT template FROM steadfast_batch_callback WHERE batch = ?1
