-- Deletes the ticks of a schedule.
-- Parameters: 1 schedule id. Rows: none. Locks: write.
DELETE FROM steadfast_tick WHERE schedule = ?1
