-- Deletes events that were worked on.
-- Parameters: numbers. Rows: none. Locks: the rows.
DELETE FROM steadfast_event WHERE seq IN (/*list*/)
