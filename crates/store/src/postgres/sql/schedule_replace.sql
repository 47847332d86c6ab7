-- Replaces a schedule whose revision is the one before the new one.
-- Parameters: as named, in order. Rows: id, if it was replaced. Locks: the row.
UPDATE steadfast.schedule SET
    tenant = $2,
    name = $3,
    timetable = $4,
    template = $5,
    paused = $6,
    created_at = $7,
    revision = $8,
    next_tick = $9,
    last_tick = $10,
    runs = $11,
    queued_tick = $12
WHERE id = $1 AND revision = $8::bigint - 1
RETURNING id
