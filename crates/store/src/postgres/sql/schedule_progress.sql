-- Writes how far a schedule has come, as a new revision of it, if the revision is the one that
-- was decided upon.
-- Parameters: 1 schedule id, 2 to 5 progress, 6 revision. Rows: id, if it was written.
-- Locks: the row, which also keeps others from firing it meanwhile.
UPDATE steadfast.schedule SET
    next_tick = $2, last_tick = $3, runs = $4, queued_tick = $5, revision = revision + 1
WHERE id = $1 AND revision = $6
RETURNING id
