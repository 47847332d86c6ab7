-- Claims due jobs, the higher priority first, then the earlier time.
--
-- Each lane and priority is one range of the index, and its head tells whether it is due. If
-- several are, a look at their first entries, without locks, says how many to take of each;
-- then each range gives that many, passing over what others hold. So no more is locked than is
-- taken, and neither future jobs nor other lanes are ever walked over.
--
-- Literals: priorities go up to PRIORITY_MAX, attempts and fences to u32::MAX, and times to
-- Timestamp::MAX. They are no parameters, because the planner counts the priorities.
--
-- Parameters: 1 now or null, 2 tenant or null, 3 queues, 4 kinds, where empty means any,
-- 5 limit, 6 worker, 7 lease in microseconds in place of each job's own, or null, 8 how many
-- bytes of payloads are enough, 9 kinds that are not asked for, 10 whether leases end with the
-- timeout, which is in nanoseconds, at the latest.
-- Rows: the jobs as claimed, in no order, then now. Locks: the rows, as far as they are free.
WITH clock AS MATERIALIZED (SELECT steadfast.time($1) AS now),
wanted AS MATERIALIZED (
    SELECT lane.id FROM steadfast.lane
    WHERE
        ($2::text IS NULL OR lane.tenant = $2)
        AND (cardinality($3::text[]) = 0 OR lane.queue = ANY($3))
        AND (cardinality($4::text[]) = 0 OR lane.kind = ANY($4))
        AND lane.kind <> ALL($9::text[])
        AND NOT EXISTS (
            SELECT 1 FROM steadfast.paused
            WHERE paused.tenant = lane.tenant AND paused.queue = lane.queue
        )
),
due AS MATERIALIZED (
    SELECT wanted.id AS lane, level.priority
    FROM wanted
    CROSS JOIN LATERAL (
        SELECT 1 FROM steadfast.job WHERE job.state = 0 AND job.lane = wanted.id LIMIT 1
    ) AS something
    CROSS JOIN generate_series(0, 9) AS level (priority)
    CROSS JOIN LATERAL (
        SELECT job.run_at FROM steadfast.job
        WHERE job.state = 0 AND job.lane = wanted.id AND job.priority = level.priority
        ORDER BY job.run_at
        LIMIT 1
    ) AS head
    WHERE head.run_at <= (SELECT now FROM clock)
),
share AS MATERIALIZED (
    SELECT lane, priority, $5::bigint AS size FROM due WHERE (SELECT count(*) FROM due) = 1
    UNION ALL
    SELECT lane, priority, count(*) FROM (
        SELECT due.lane, due.priority
        FROM due
        CROSS JOIN LATERAL (
            SELECT job.run_at FROM steadfast.job
            WHERE
                job.state = 0 AND job.lane = due.lane AND job.priority = due.priority
                AND job.run_at <= (SELECT now FROM clock)
            ORDER BY job.run_at
            LIMIT $5
        ) AS first
        WHERE (SELECT count(*) FROM due) > 1
        ORDER BY due.priority DESC, first.run_at
        LIMIT $5
    ) AS chosen
    GROUP BY lane, priority
),
held AS MATERIALIZED (
    SELECT first.id, first.lane, first.due_minute, first.is_retry, first.bytes
    FROM (SELECT * FROM share ORDER BY priority DESC) AS share
    CROSS JOIN LATERAL (
        SELECT
            job.id, job.lane, job.run_at / 60000000 AS due_minute,
            job.attempt > job.attempts_before AS is_retry, octet_length(job.payload) AS bytes
        FROM steadfast.job
        WHERE
            job.state = 0 AND job.lane = share.lane AND job.priority = share.priority
            AND job.run_at <= (SELECT now FROM clock)
        ORDER BY job.run_at
        LIMIT share.size
        FOR UPDATE SKIP LOCKED
    ) AS first
),
taken AS MATERIALIZED (
    SELECT id, lane, due_minute, is_retry FROM (
        SELECT
            id, lane, due_minute, is_retry, bytes,
            sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) AS bytes_so_far
        FROM held
    ) AS sized
    WHERE bytes_so_far - bytes <= $8
),
counted AS (
    INSERT INTO steadfast.count_change (lane, due_minute, waiting, retrying, running)
    SELECT lane, due_minute, - count(*), - count(*) FILTER (WHERE is_retry), count(*)
    FROM taken
    GROUP BY lane, due_minute
)
UPDATE steadfast.job SET
    state = 1,
    attempt = least(job.attempt + 1, 4294967295),
    fence = least(job.fence + 1, 4294967295),
    lease_until = least(
        (SELECT now FROM clock) + coalesce($7::bigint, job.lease / 1000),
        (SELECT now FROM clock) + job.timeout / 1000 + CASE WHEN $10::boolean THEN 0 END,
        253402207200000000
    ),
    worker = $6,
    started_at = (SELECT now FROM clock),
    first_started_at = coalesce(job.first_started_at, (SELECT now FROM clock)),
    note = NULL
FROM taken
WHERE job.id = taken.id
RETURNING
    job.id, job.lane, job.policy, job.state, job.priority, job.run_at, job.fence, job.attempt,
    job.attempts_before, job.cancel_requested, job.lease_until, job.started_at,
    job.first_started_at, job.finished_at, job.resolved_at, job.worker, job.snoozes,
    job.last_delay, job.reason, job.failure, job.note, job.at_most_once, job.timeout, job.lease,
    job.created_at, job.idempotency_key, job.schedule, job.tick, job.tags, job.payload, job.webhook,
    (SELECT now FROM clock) AS now
