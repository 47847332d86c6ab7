-- A job that a batch is to make.
-- Parameters: 1 batch, 2 callback. Rows: template, at most one. Locks: read.
SELECT template FROM steadfast_batch_callback WHERE batch = ?1 AND callback = ?2
