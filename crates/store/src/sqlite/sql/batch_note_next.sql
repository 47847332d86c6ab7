-- The first batch behind another to whose jobs something has happened.
-- Parameters: 1 the other. Rows: batch, at most one. Locks: read.
SELECT batch FROM steadfast_batch_note WHERE batch > ?1 ORDER BY batch LIMIT 1
