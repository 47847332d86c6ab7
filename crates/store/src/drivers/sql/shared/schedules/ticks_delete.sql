-- Deletes the records of a schedule's ticks.
-- Parameters: 1 schedule. Rows: none. Locks: the rows.
DELETE FROM steadfast_tick WHERE schedule = ?1
