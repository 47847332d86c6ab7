-- Writes how far a schedule has come, as a new revision of it.
-- Parameters: 1 schedule id, 2–5 progress. Rows: none. Locks: write.
UPDATE steadfast_schedule SET
    next_tick = ?2, last_tick = ?3, runs = ?4, queued_tick = ?5, revision = revision + 1
WHERE id = ?1
