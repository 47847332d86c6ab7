-- Succeeded and cancelled jobs that retention may delete, the oldest first.
-- Parameters: 1 ended before, 2 keyed jobs created after this stay, 3 limit.
-- Rows: as named. Locks: read.
SELECT seq, id, lane, state, idempotency_key, schedule FROM steadfast_job
WHERE
    state IN (2, 4) AND finished_at < ?1
    AND (idempotency_key IS NULL OR created_at <= ?2)
ORDER BY finished_at
LIMIT ?3
