-- Records skipped ticks under the first of them, unless there is a record.
-- Parameters: arrays with one entry per range: 1 schedule id, 2 tick, 3 skip.
-- Rows: none. Locks: the new rows.
INSERT INTO steadfast.tick (schedule, tick, skip)
SELECT new.schedule, new.tick, new.skip
FROM unnest($1::uuid[], $2::bigint[], $3::text[]) AS new (schedule, tick, skip)
ON CONFLICT DO NOTHING
