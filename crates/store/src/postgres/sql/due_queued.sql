-- Schedules with a queued tick that nothing holds up any more, and no other tick that has come.
-- Parameters: 1 now, 2 limit. Rows: as named. Locks: the rows, as
-- far as they are free: what another node is firing is passed over.
SELECT
    id, name, timetable, template, paused, created_at, revision, next_tick, last_tick, runs,
    queued_tick
FROM steadfast.schedule
WHERE
    NOT paused AND queued_tick IS NOT NULL AND (next_tick IS NULL OR next_tick > $1)
    AND NOT EXISTS (
        SELECT 1 FROM steadfast.job
        WHERE job.schedule = schedule.id AND job.schedule IS NOT NULL AND job.state IN (0, 1)
    )
ORDER BY queued_tick
LIMIT $2
FOR UPDATE OF schedule SKIP LOCKED
