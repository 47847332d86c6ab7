-- Records skipped ticks under the first of them, unless there is a record.
-- Parameters: 1 schedule id, then arrays with one entry per range: 2 tick, 3 skip.
-- Rows: none. Locks: the new rows.
INSERT INTO steadfast.tick (schedule, tick, skip)
SELECT $1, new.tick, new.skip FROM unnest($2::bigint[], $3::text[]) AS new (tick, skip)
ON CONFLICT DO NOTHING
