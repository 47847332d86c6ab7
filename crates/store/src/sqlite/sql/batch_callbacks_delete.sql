-- Deletes the jobs that a batch would have made.
-- Parameters: 1 batch. Rows: none. Locks: write.
DELETE FROM steadfast_batch_callback WHERE batch = ?1
