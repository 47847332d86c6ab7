-- Forgets what has happened to jobs of a batch, once it is counted.
-- Parameters: 1 batch, 2 the last of it. Rows: none. Locks: write.
DELETE FROM steadfast_batch_note WHERE batch = ?1 AND seq <= ?2
