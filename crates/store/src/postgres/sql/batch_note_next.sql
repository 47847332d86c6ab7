-- The first batch behind another to whose jobs something has happened.
-- Parameters: 1 the other. Rows: batch, at most one. Locks: none.
SELECT batch FROM steadfast.batch_note WHERE batch > $1 ORDER BY batch LIMIT 1
