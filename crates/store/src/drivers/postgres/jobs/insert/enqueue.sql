-- Stores waiting jobs, unless their id is stored already, and counts them. One that was stored before may
-- have ended since, so the partitions in which it would be are looked at in the same moment: the days are
-- parameters, so that no other partition is opened.
-- Parameters: 1 now or null, 2 the jobs; one without a time waits for its delay from now on. least()
-- passes over nulls, so a job without a start deadline is told apart before it. 3 the first and 4 the last
-- day on which their ids were made.
-- Rows: those that were stored, with now. Locks: the new rows.
WITH clock AS (SELECT steadfast.time($1) AS now),
asked AS MATERIALIZED (SELECT array_agg(new.id) AS ids FROM unnest($2::steadfast.new_job[]) AS new),
known AS MATERIALIZED (
    SELECT job.id FROM steadfast.job_hot AS job WHERE job.id = ANY((SELECT ids FROM asked)::uuid[])
    UNION ALL
    SELECT job.id FROM steadfast.job_rest AS job WHERE job.id = ANY((SELECT ids FROM asked)::uuid[])
    UNION ALL
    SELECT job.id FROM steadfast.job
    WHERE job.day >= $3 AND job.day <= $4 AND job.id = ANY((SELECT ids FROM asked)::uuid[])
),
added AS (
    INSERT INTO steadfast.job_hot AS job (
        id, lane, policy, priority, run_at, at_most_once, timeout, lease, created_at,
        idempotency_key, schedule, tick, tags, payload, webhook, flow_key, destination,
        concurrency_key, key_number, traceparent, extras, unique_number, start_before
    )
    SELECT
        new.id, new.lane, new.policy, new.priority,
        coalesce(new.run_at, least(clock.now + new.delay, 253402207200000000)),
        new.at_most_once, new.timeout, new.lease, clock.now, new.idempotency_key, new.schedule,
        new.tick, new.tags, new.payload, new.webhook, new.flow_key, new.destination,
        new.concurrency_key, new.key_number, new.traceparent, new.extras, new.unique_number,
        CASE
            WHEN new.start_within IS NULL THEN new.start_before
            ELSE least(clock.now + new.start_within, 253402207200000000)
        END
    FROM clock, unnest($2::steadfast.new_job[]) AS new
    WHERE NOT EXISTS (SELECT 1 FROM known WHERE known.id = new.id)
    ON CONFLICT (id) DO NOTHING
    RETURNING job.id, job.lane, job.run_at, job.created_at
),
counted AS (
    INSERT INTO steadfast.count_change (lane, due_minute, waiting)
    SELECT lane, run_at / 60000000, count(*) FROM added GROUP BY lane, run_at / 60000000
)
SELECT id, run_at, created_at FROM added
