-- Jobs without their payloads, but for the beginning of those of some lanes.
-- Parameters: 1 job ids, 2 those lanes, 3 how many characters. Rows: job. Locks: none.
SELECT
    job.id, job.lane, job.policy, job.state, job.priority, job.run_at, job.fence, job.attempt,
    job.attempts_before, job.cancel_requested, job.lease_until, job.started_at,
    job.first_started_at, job.finished_at, job.resolved_at, job.worker, job.snoozes,
    job.last_delay, job.reason, job.failure, job.note, job.at_most_once, job.timeout, job.lease,
    job.created_at, job.idempotency_key, job.schedule, job.tick, job.tags,
    CASE WHEN job.lane = ANY($2::bigint[]) THEN left(job.payload, $3) ELSE 'null' END AS payload,
    job.webhook,
    job.destination, job.concurrency_key, job.traceparent, job.extras,
    job.start_before
FROM steadfast.job
WHERE job.id = ANY($1::uuid[])
