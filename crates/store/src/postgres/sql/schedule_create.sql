-- Creates a schedule, unless its id or its name is taken.
-- Parameters: as named, in order. Rows: id, if it was created. Locks: the new row; one that
-- another transaction is creating is waited for.
INSERT INTO steadfast.schedule (
    id, tenant, name, timetable, template, paused, created_at, revision, next_tick, last_tick,
    runs, queued_tick
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT DO NOTHING
RETURNING id
