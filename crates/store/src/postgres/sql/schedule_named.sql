-- The schedule that has a name.
-- Parameters: 1 tenant, 2 name. Rows: as named, at most one. Locks: none.
SELECT
    id, name, timetable, template, paused, created_at, revision, next_tick, last_tick, runs,
    queued_tick
FROM steadfast.schedule WHERE tenant = $1 AND name = $2
