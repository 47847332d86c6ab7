-- Stores waiting jobs, unless their id is known, and counts them.
-- Parameters: 1 now or null, then arrays with one entry per job: 2 id, 3 lane, 4 policy,
-- 5 priority, 6 run_at or null if it counts from now, 7 how long from now, 8 at_most_once,
-- 9 timeout, 10 lease, 11 idempotency_key, 12 schedule, 13 tick, 14 tags, 15 payload.
-- Rows: those that were stored, with now. Locks: the new rows.
WITH clock AS (SELECT steadfast.time($1) AS now),
added AS (
    INSERT INTO steadfast.job (
        id, lane, policy, priority, run_at, at_most_once, timeout, lease, created_at,
        idempotency_key, schedule, tick, tags, payload
    )
    SELECT
        new.id, new.lane, new.policy, new.priority,
        coalesce(new.run_at, least(clock.now + new.delay, 253402207200000000)),
        new.at_most_once, new.timeout, new.lease, clock.now, new.idempotency_key, new.schedule,
        new.tick, new.tags, new.payload
    FROM clock, unnest(
        $2::uuid[], $3::integer[], $4::integer[], $5::smallint[], $6::bigint[], $7::bigint[],
        $8::boolean[], $9::bigint[], $10::bigint[], $11::text[], $12::uuid[], $13::bigint[],
        $14::text[], $15::text[]
    ) AS new (
        id, lane, policy, priority, run_at, delay, at_most_once, timeout, lease,
        idempotency_key, schedule, tick, tags, payload
    )
    ON CONFLICT (id) DO NOTHING
    RETURNING job.id, job.lane, job.run_at, job.created_at
),
counted AS (
    INSERT INTO steadfast.counted (lane, waiting) SELECT lane, count(*) FROM added GROUP BY lane
)
SELECT id, run_at, created_at FROM added
