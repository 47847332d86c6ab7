-- Claims due jobs where the caller's index says that some may start, the higher priority first, then
-- the earlier time.
--
-- Each pick is one range of the index. If a turn has several, a look at their first entries, without
-- locks, says how many to take of each; then each range gives that many, passing over what others
-- hold. So no more is locked than is taken, and neither future jobs, nor other ranges, nor what lies
-- dead in front of a range is walked over.
--
-- Literals: attempts and fences go up to u32::MAX, and times to Timestamp::MAX. A lease as long as the
-- timeout ends 1 microsecond after it, as core says.
--
-- Parameters: 1 now or null; picks: 2 turn, 3 lane, 4 sublane, 5 level, 6 the earliest time to look
-- at, 7 at most, 8 the only job, or null, 9 gates as an array in text, or null; 10 how many each turn may take;
-- 11 worker, 12 lease in microseconds in place of each job's own, or null, 13 how many bytes of
-- payloads are enough, 14 whether leases end with the timeout, which is in nanoseconds, at the
-- latest, 15 how many entries to look at for each pick.
-- Rows: the jobs as claimed, in no order, then the turn in which they were counted at gates, their
-- pick and now. Locks: the rows, as far as they are free.
WITH clock AS MATERIALIZED (SELECT steadfast.time($1) AS now),
turn AS MATERIALIZED (SELECT nextval('steadfast.gate_turn') AS number),
pick AS MATERIALIZED (
    SELECT
        pick.number, pick.lane, pick.sublane, pick.level, pick.low, pick.most, pick.chosen,
        pick.gates::bigint[] AS gates, pick.turn, ($10::bigint[])[pick.turn] AS size,
        count(*) OVER (PARTITION BY pick.turn) AS picks
    FROM unnest(
        $2::integer[], $3::bigint[], $4::bigint[], $5::integer[], $6::bigint[], $7::bigint[],
        $8::uuid[], $9::text[]
    ) WITH ORDINALITY AS pick (turn, lane, sublane, level, low, most, chosen, gates, number)
),
share AS MATERIALIZED (
    SELECT number, lane, sublane, level, low, gates, least(most, size) AS size
    FROM pick
    WHERE picks = 1 AND chosen IS NULL
    UNION ALL
    SELECT number, lane, sublane, level, low, gates, count(*) FROM (
        SELECT
            pick.number, pick.lane, pick.sublane, pick.level, pick.low, pick.gates, pick.size,
            row_number() OVER (
                PARTITION BY pick.turn ORDER BY pick.level / 2 DESC, first.run_at
            ) AS place
        FROM pick
        CROSS JOIN LATERAL (
            SELECT job.run_at FROM steadfast.job
            WHERE
                job.state = 0 AND job.lane = pick.lane AND job.sublane = pick.sublane
                AND job.level = pick.level
                AND job.run_at >= pick.low AND job.run_at <= (SELECT now FROM clock)
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
    GROUP BY number, lane, sublane, level, low, gates
),
held_in_order AS MATERIALIZED (
    SELECT first.*, share.number, share.gates
    FROM (SELECT * FROM share ORDER BY level / 2 DESC) AS share
    CROSS JOIN LATERAL (
        SELECT
            job.id, job.lane, job.run_at / 60000000 AS due_minute,
            job.attempt > job.attempts_before AS is_retry, octet_length(job.payload) AS bytes
        FROM steadfast.job
        WHERE
            job.state = 0 AND job.lane = share.lane AND job.sublane = share.sublane
            AND job.level = share.level
            AND job.run_at >= share.low AND job.run_at <= (SELECT now FROM clock)
            AND (
                job.start_before IS NULL OR job.start_before > (SELECT now FROM clock)
                OR job.attempt > 0 OR job.snoozes > 0
            )
        ORDER BY job.run_at
        LIMIT share.size
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
        FROM steadfast.job
        WHERE
            job.id = pick.chosen AND job.state = 0 AND job.run_at <= (SELECT now FROM clock)
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
    SELECT gate.number, (SELECT number FROM turn), taken.id
    FROM taken CROSS JOIN LATERAL unnest(taken.gates) AS gate (number)
)
UPDATE steadfast.job SET
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
    gate_turn = CASE WHEN taken.gates IS NOT NULL THEN (SELECT number FROM turn) END
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
