-- Records ranges of skipped ticks under the first of each, unless there is a record.
-- Parameters: of each row schedule, tick, skip. Rows: none. Locks: the new rows.
INSERT INTO steadfast_tick (schedule, tick, skip)
VALUES /*rows*/
ON CONFLICT (schedule, tick) DO NOTHING
