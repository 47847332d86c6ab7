-- Discarded jobs that retention may delete, the oldest first.
-- Parameters: 1 discarded before, 2 keyed jobs created after this stay, 3 limit.
-- Rows: as named. Locks: read.
SELECT seq, id, lane, state, idempotency_key, schedule FROM steadfast_job
WHERE
    resolved_at IS NOT NULL AND resolved_at < ?1
    AND (idempotency_key IS NULL OR created_at <= ?2)
ORDER BY resolved_at
LIMIT ?3
