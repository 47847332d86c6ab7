-- Forgets a job that a batch has made.
-- Parameters: 1 batch, 2 callback. Rows: none. Locks: write.
DELETE FROM steadfast_batch_callback WHERE batch = ?1 AND callback = ?2
