-- Stores a waiting job, unless its id is stored already.
-- Parameters: as named, in order. Rows: none; one change if it was stored. Locks: write.
INSERT INTO steadfast_job (
    id, lane, state, priority, run_at, fence, attempt, attempts_before, cancel_requested,
    snoozes, policy, at_most_once, timeout, lease, created_at, idempotency_key, schedule, tick,
    tags, payload, webhook
) VALUES (?1, ?2, 0, ?3, ?4, 0, 0, 0, 0, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
ON CONFLICT (id) DO NOTHING
