-- Writes what changes of a batch.
-- Parameters: 1 id, 2 finished_at, 3 counts. Rows: none. Locks: write.
UPDATE steadfast_batch SET finished_at = ?2, counts = ?3 WHERE id = ?1
