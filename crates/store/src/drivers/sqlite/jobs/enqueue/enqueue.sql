-- Stores a waiting job, unless its id is stored already.
-- Parameters: as named, in order; the row is repeated for several jobs.
-- Rows: none; as many changes as jobs were stored. Locks: write.
INSERT OR FAIL INTO steadfast_job (
    id, lane, state, priority, run_at, fence, attempt, attempts_before, cancel_requested,
    snoozes, policy, at_most_once, timeout, lease, created_at, idempotency_key, schedule, tick,
    tags, payload, webhook, flow_key, destination, concurrency_key, key_number, traceparent, extras,
    unique_number, start_before
) VALUES (?, ?, 0, ?, ?, 0, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING
