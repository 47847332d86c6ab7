-- When the next schedule that is not due yet will be.
-- Parameters: 1 now. Rows: next_tick, null if none will. Locks: none.
SELECT min(next_tick) AS next_tick FROM steadfast.schedule WHERE NOT paused AND next_tick > $1
