-- Jobs without their payloads, but for the beginning of those of some lanes.
-- Nothing can be read of a part of an encrypted payload, so it is whole, or left out if it is long.
-- Parameters: 1 job ids, 2 those lanes, 3 how many characters, 4 of an encrypted one,
-- 5 the first and 6 the last day on which the ids were made. Rows: job.
-- Locks: none.
SELECT
    job.id, job.lane, job.policy, job.state, job.priority, job.run_at, job.fence, job.attempt,
    job.attempts_before, job.cancel_requested, job.lease_until, job.started_at,
    job.first_started_at, job.finished_at, job.resolved_at, job.worker, job.snoozes,
    job.last_delay, job.reason, job.failure, job.note, job.at_most_once, job.timeout, job.lease,
    job.created_at, job.idempotency_key, job.schedule, job.tick, job.tags,
    CASE
        WHEN job.lane <> ALL($2::bigint[]) THEN 'null'
        WHEN left(job.payload, 1) <> '~' THEN left(job.payload, $3)
        WHEN octet_length(job.payload) <= $4 THEN job.payload
        ELSE 'null'
    END AS payload,
    job.webhook,
    job.destination, job.concurrency_key, job.traceparent, job.extras,
    job.start_before
FROM steadfast.job
WHERE job.id = ANY($1::uuid[]) AND (job.day <= 0 OR (job.day >= $5 AND job.day <= $6))
