-- Deletes the events of a batch.
-- Parameters: 1 batch. Rows: none. Locks: the rows.
DELETE FROM steadfast_event WHERE batch = ?1
