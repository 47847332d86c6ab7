-- Schedules, newest id first.
-- Parameters: 1 ids below this or null, 2 limit, 3 tenant or null, 4 name or null, 5 id or
-- null. Rows: as named. Locks: none.
SELECT
    id, name, timetable, template, paused, created_at, revision, next_tick, last_tick, runs,
    queued_tick
FROM steadfast.schedule
WHERE
    ($1::uuid IS NULL OR id < $1) AND ($3::text IS NULL OR tenant = $3)
    AND ($4::text IS NULL OR name = $4) AND ($5::uuid IS NULL OR id = $5)
ORDER BY id DESC
LIMIT $2
