-- Writes jobs after a command, on rows that are locked.
-- Parameters: 1 the jobs; a payload that stays is null. Rows: none. Locks: the rows.
UPDATE steadfast.job_hot AS job SET
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
FROM unnest($1::steadfast.commanded[]) AS new
WHERE job.id = new.id
