-- Schedules of which a tick has come, the longest due first.
-- Parameters: 1 now, 2 limit. Rows: as named. Locks: the rows, as
-- far as they are free: what another node is firing is passed over.
SELECT
    id, name, timetable, template, paused, created_at, revision, next_tick, last_tick, runs,
    queued_tick
FROM steadfast.schedule
WHERE NOT paused AND next_tick <= $1
ORDER BY next_tick
LIMIT $2
FOR UPDATE OF schedule SKIP LOCKED
