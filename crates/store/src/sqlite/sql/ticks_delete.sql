-- Forgets the ticks of a schedule.
-- Parameters: 1 schedule id. Rows: none. Locks: write.
DELETE FROM tick WHERE schedule = ?1
