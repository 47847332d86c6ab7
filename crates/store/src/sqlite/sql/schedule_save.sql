-- Creates a schedule or replaces it.
-- Parameters: as named, in order. Rows: none. Locks: write.
INSERT INTO steadfast_schedule (
    id, tenant, name, timetable, template, paused, created_at, revision, next_tick, last_tick,
    runs, queued_tick
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
ON CONFLICT (id) DO UPDATE SET
    tenant = excluded.tenant,
    name = excluded.name,
    timetable = excluded.timetable,
    template = excluded.template,
    paused = excluded.paused,
    created_at = excluded.created_at,
    revision = excluded.revision,
    next_tick = excluded.next_tick,
    last_tick = excluded.last_tick,
    runs = excluded.runs,
    queued_tick = excluded.queued_tick
