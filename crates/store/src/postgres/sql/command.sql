-- Writes what commands came to, on rows that are locked.
-- Parameters: arrays with one entry per job: 1 job id, 2 priority, 3 policy, 4 payload or null
-- if it stays, then the progress as named. Rows: none. Locks: the rows.
UPDATE steadfast.job SET
    priority = new.priority,
    policy = new.policy,
    payload = coalesce(new.payload, job.payload),
    state = new.state,
    run_at = new.run_at,
    fence = new.fence,
    attempt = new.attempt,
    attempts_before = new.attempts_before,
    cancel_requested = new.cancel_requested,
    lease_until = new.lease_until,
    started_at = new.started_at,
    first_started_at = new.first_started_at,
    finished_at = new.finished_at,
    resolved_at = new.resolved_at,
    worker = new.worker,
    snoozes = new.snoozes,
    last_delay = new.last_delay,
    reason = new.reason,
    failure = new.failure,
    note = new.note
FROM unnest(
    $1::uuid[], $2::smallint[], $3::integer[], $4::text[],
    $5::smallint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::boolean[],
    $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::text[],
    $17::integer[], $18::bigint[], $19::text[], $20::text[], $21::text[]
) AS new (
    id, priority, policy, payload,
    state, run_at, fence, attempt, attempts_before, cancel_requested,
    lease_until, started_at, first_started_at, finished_at, resolved_at, worker,
    snoozes, last_delay, reason, failure, note
)
WHERE job.id = new.id
