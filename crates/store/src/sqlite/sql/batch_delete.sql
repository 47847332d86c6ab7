-- Deletes a batch.
-- Parameters: 1 id. Rows: none. Locks: write.
DELETE FROM steadfast_batch WHERE id = ?1
