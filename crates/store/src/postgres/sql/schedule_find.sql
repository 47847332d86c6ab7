-- One schedule.
-- Parameters: 1 schedule id. Rows: as named, at most one. Locks: none.
SELECT
    id, name, timetable, template, paused, created_at, revision, next_tick, last_tick, runs,
    queued_tick
FROM steadfast.schedule WHERE id = $1
