-- The jobs of a batch, newest first.
-- Parameters: 1 batch, 2 those before this id, 3 limit. Rows: job. Locks: read.
SELECT job FROM steadfast_batch_job WHERE batch = ?1 AND job < ?2 ORDER BY job DESC LIMIT ?3
