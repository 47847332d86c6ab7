-- The records of a schedule's ticks, newest first.
-- Parameters: 1 schedule, 2 ticks below this, 3 limit. Rows: tick, job or null, skip or null. Locks: none.
SELECT tick, job, skip FROM steadfast_tick
WHERE schedule = ?1 AND tick < ?2
ORDER BY tick DESC
LIMIT ?3
