-- Claims due jobs where the caller's index says that some may start, the higher priority first, then
-- the earlier time.
--
-- Each pick is one due range. If a tenant's batch has several, their first entries are read without
-- locks, to find how many to take of each; then each range gives that many, passing over locked rows.
-- So no more is locked than is taken, and neither future jobs, nor other ranges, nor dead rows in
-- front of a range are read.
--
-- The state of a job that is known by its id is compared in a way that no index answers: a plan that
-- was made for an empty table would read all due jobs in place of the one, until statistics change.
--
-- Literals: attempts and fences go up to u32::MAX, and times to Timestamp::MAX. A lease as long as the
-- timeout ends 1 microsecond after it, as core says.
--
-- Parameters: 1 now or null; picks: 2 batch, 3 lane, 4 flow key, 5 level, 6 the time of
-- the oldest live row, 7 at most, 8 the only job, or null, 9 gates as an array in text, or null; 10 how many each batch may take;
-- 11 worker, 12 lease in microseconds in place of each job's own, or null, 13 how many bytes of
-- payloads are enough, 14 whether leases end with the timeout, which is in nanoseconds, at the
-- latest, 15 how many entries to read of each pick.
-- Rows: the jobs as claimed, in no order, then the gate epoch in which they were counted, their
-- pick and now. Locks: the rows that are free.
WITH clock AS MATERIALIZED (SELECT steadfast.time($1) AS now),
gate_epoch AS MATERIALIZED (SELECT nextval('steadfast.gate_turn') AS number),
pick AS MATERIALIZED (
    SELECT
        pick.number, pick.lane, pick.flow_key, pick.level, pick.oldest_live, pick.most, pick.chosen,
        pick.gates::bigint[] AS gates, pick.batch, ($10::bigint[])[pick.batch] AS size,
        count(*) OVER (PARTITION BY pick.batch) AS picks
    FROM unnest(
        $2::integer[], $3::bigint[], $4::bigint[], $5::integer[], $6::bigint[], $7::bigint[],
        $8::uuid[], $9::text[]
    ) WITH ORDINALITY AS pick (batch, lane, flow_key, level, oldest_live, most, chosen, gates, number)
),
quota AS MATERIALIZED (
    SELECT number, lane, flow_key, level, oldest_live, gates, least(most, size) AS size
    FROM pick
    WHERE picks = 1 AND chosen IS NULL
    UNION ALL
    SELECT number, lane, flow_key, level, oldest_live, gates, count(*) FROM (
        SELECT
            pick.number, pick.lane, pick.flow_key, pick.level, pick.oldest_live, pick.gates, pick.size,
            row_number() OVER (
                PARTITION BY pick.batch ORDER BY pick.level / 2 DESC, first.run_at
            ) AS place
        FROM pick
        CROSS JOIN LATERAL (
            SELECT job.run_at FROM steadfast.job_hot AS job
            WHERE
                job.state = 0 AND job.lane = pick.lane AND job.flow_key = pick.flow_key
                AND job.level = pick.level
                AND job.run_at >= pick.oldest_live AND job.run_at <= (SELECT now FROM clock)
                AND (
                    job.start_before IS NULL OR job.start_before > (SELECT now FROM clock)
                    OR job.attempt > 0 OR job.snoozes > 0
                )
            ORDER BY job.run_at
            LIMIT least(pick.most, $15::bigint)
        ) AS first
        WHERE pick.picks > 1 AND pick.chosen IS NULL
    ) AS placed
    WHERE place <= size
    GROUP BY number, lane, flow_key, level, oldest_live, gates
),
held_in_order AS MATERIALIZED (
    SELECT first.*, quota.number, quota.gates
    FROM (SELECT * FROM quota ORDER BY level / 2 DESC) AS quota
    CROSS JOIN LATERAL (
        SELECT
            job.id, job.lane, job.run_at / 60000000 AS due_minute,
            job.attempt > job.attempts_before AS is_retry, octet_length(job.payload) AS bytes
        FROM steadfast.job_hot AS job
        WHERE
            job.state = 0 AND job.lane = quota.lane AND job.flow_key = quota.flow_key
            AND job.level = quota.level
            AND job.run_at >= quota.oldest_live AND job.run_at <= (SELECT now FROM clock)
            AND (
                job.start_before IS NULL OR job.start_before > (SELECT now FROM clock)
                OR job.attempt > 0 OR job.snoozes > 0
            )
        ORDER BY job.run_at
        LIMIT quota.size
        FOR UPDATE SKIP LOCKED
    ) AS first
),
held_alone AS MATERIALIZED (
    SELECT first.*, pick.number, pick.gates
    FROM pick
    CROSS JOIN LATERAL (
        SELECT
            job.id, job.lane, job.run_at / 60000000 AS due_minute,
            job.attempt > job.attempts_before AS is_retry, octet_length(job.payload) AS bytes
        FROM steadfast.job_hot AS job
        WHERE
            job.id = pick.chosen AND job.state + 0 = 0 AND job.run_at <= (SELECT now FROM clock)
            AND (
                job.start_before IS NULL OR job.start_before > (SELECT now FROM clock)
                OR job.attempt > 0 OR job.snoozes > 0
            )
        FOR UPDATE SKIP LOCKED
    ) AS first
    WHERE pick.chosen IS NOT NULL
),
taken AS MATERIALIZED (
    SELECT id, lane, due_minute, is_retry, number, gates FROM (
        SELECT
            id, lane, due_minute, is_retry, number, gates, bytes,
            sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) AS bytes_so_far
        FROM (SELECT * FROM held_alone UNION ALL SELECT * FROM held_in_order) AS held
    ) AS sized
    WHERE bytes_so_far - bytes <= $13
),
counted AS (
    INSERT INTO steadfast.count_change (lane, due_minute, waiting, retrying, running)
    SELECT lane, due_minute, - count(*), - count(*) FILTER (WHERE is_retry), count(*)
    FROM taken
    GROUP BY lane, due_minute
),
counted_at_gates AS (
    INSERT INTO steadfast.gate_running (gate, turn, job)
    SELECT gate.number, (SELECT number FROM gate_epoch), taken.id
    FROM taken CROSS JOIN LATERAL unnest(taken.gates) AS gate (number)
)
UPDATE steadfast.job_hot AS job SET
    state = 1,
    attempt = least(job.attempt + 1, 4294967295),
    fence = least(job.fence + 1, 4294967295),
    lease_until = least(
        (SELECT now FROM clock) + coalesce($12::bigint, job.lease / 1000)
        + CASE job.timeout / 1000 WHEN coalesce($12::bigint, job.lease / 1000) THEN 1 ELSE 0 END,
        CASE
            WHEN $14::boolean AND job.timeout / 1000 < coalesce($12::bigint, job.lease / 1000)
                THEN (SELECT now FROM clock) + job.timeout / 1000
        END,
        253402207200000000
    ),
    worker = $11,
    started_at = (SELECT now FROM clock),
    first_started_at = coalesce(job.first_started_at, (SELECT now FROM clock)),
    note = NULL,
    gates = taken.gates,
    gate_turn = CASE WHEN taken.gates IS NOT NULL THEN (SELECT number FROM gate_epoch) END
FROM taken
WHERE job.id = taken.id
RETURNING
    job.id, job.lane, job.policy, job.state, job.priority, job.run_at, job.fence, job.attempt,
    job.attempts_before, job.cancel_requested, job.lease_until, job.started_at,
    job.first_started_at, job.finished_at, job.resolved_at, job.worker, job.snoozes,
    job.last_delay, job.reason, job.failure, job.note, job.at_most_once, job.timeout, job.lease,
    job.created_at, job.idempotency_key, job.schedule, job.tick, job.tags, job.payload, job.webhook,
    job.destination, job.concurrency_key, job.traceparent, job.extras,
    job.start_before,
    job.gate_turn, taken.number AS pick, (SELECT now FROM clock) AS now
