-- Deletes old tick records.
-- Parameters: 1 ticks before this, 2 limit. Rows: none. Locks: write.
DELETE FROM steadfast_tick WHERE (schedule, tick) IN (
    SELECT schedule, tick FROM steadfast_tick INDEXED BY steadfast_tick_age WHERE tick < ?1 LIMIT ?2
)
