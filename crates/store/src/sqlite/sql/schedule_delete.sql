-- Deletes a schedule.
-- Parameters: 1 schedule id. Rows: none; one change if it was there. Locks: write.
DELETE FROM steadfast_schedule WHERE id = ?1
