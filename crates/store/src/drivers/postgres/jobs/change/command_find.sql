-- Jobs that a command is for.
-- Parameters: 1 now or null, 2 job ids, 3 the first and 4 the last day on which these were made.
-- Rows: job, then now. Locks: the rows, in the order of their ids.
SELECT
    job.id, job.lane, job.policy, job.state, job.priority, job.run_at, job.fence, job.attempt,
    job.attempts_before, job.cancel_requested, job.lease_until, job.started_at,
    job.first_started_at, job.finished_at, job.resolved_at, job.worker, job.snoozes,
    job.last_delay, job.reason, job.failure, job.note, job.at_most_once, job.timeout, job.lease,
    job.created_at, job.idempotency_key, job.schedule, job.tick, job.tags, job.payload, job.webhook,
    job.destination, job.concurrency_key, job.traceparent, job.extras,
    job.start_before,
    job.day, clock.now
FROM (SELECT steadfast.time($1) AS now OFFSET 0) AS clock, steadfast.job
WHERE job.id = ANY($2::uuid[]) AND (job.day <= 0 OR (job.day >= $3 AND job.day <= $4))
ORDER BY job.id
FOR UPDATE OF job
