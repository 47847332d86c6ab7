-- Records skipped ticks under the first of them, unless there is a record.
-- Parameters: 1 schedule id, 2 tick, 3 skip. Rows: none. Locks: write.
INSERT INTO steadfast_tick (schedule, tick, skip) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
