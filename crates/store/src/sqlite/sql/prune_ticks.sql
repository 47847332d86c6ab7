-- Forgets old tick records.
-- Parameters: 1 ticks before this, 2 limit. Rows: none. Locks: write.
DELETE FROM tick WHERE (schedule, tick) IN (
    SELECT schedule, tick FROM tick INDEXED BY tick_age WHERE tick < ?1 LIMIT ?2
)
