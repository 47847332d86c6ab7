-- One schedule.
-- Parameters: 1 schedule id. Rows: as named, at most one. Locks: read.
SELECT
    id, name, timetable, template, paused, created_at, revision, next_tick, last_tick, runs,
    queued_tick
FROM steadfast_schedule WHERE id = ?1
