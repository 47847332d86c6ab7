-- Schedules, newest id first.
-- Parameters: 1 ids below this, 2 limit, 3 tenant or null, 4 name or null. Rows: as named.
-- Locks: read.
SELECT
    id, name, timetable, template, paused, created_at, revision, next_tick, last_tick, runs,
    queued_tick
FROM steadfast_schedule
WHERE id < ?1 AND (?3 IS NULL OR tenant = ?3) AND (?4 IS NULL OR name = ?4)
ORDER BY id DESC
LIMIT ?2
