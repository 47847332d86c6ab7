-- When the next schedule that is not due yet will be.
-- Parameters: 1 now. Rows: next_tick, null if none will. Locks: read.
SELECT min(next_tick) FROM steadfast_schedule WHERE paused = 0 AND next_tick > ?1
