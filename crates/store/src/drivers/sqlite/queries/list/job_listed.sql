-- A job without its payload.
-- Parameters: 1 job. Rows: as job_row. Locks: read.
SELECT
    seq, lane, state, priority, run_at, fence, attempt, attempts_before, cancel_requested,
    lease_until, started_at, first_started_at, finished_at, resolved_at, worker, snoozes,
    last_delay, reason, failure, note, id, policy, at_most_once, timeout, lease, created_at,
    idempotency_key, schedule, tick, tags, 'null' AS payload, webhook, destination, concurrency_key,
    traceparent, extras, start_before
FROM steadfast_job
WHERE seq = ?1
