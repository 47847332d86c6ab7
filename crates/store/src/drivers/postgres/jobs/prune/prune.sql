-- Deletes jobs that retention may delete, as `Job::may_be_pruned` says, with all that belongs to
-- them: succeeded and cancelled jobs by when they ended, and discarded ones by when they were
-- discarded, the oldest of each first. Both halves have an index of their own.
-- Parameters: 1 ended before, 2 keyed jobs created after this stay, 3 limit, 4 ended from,
-- 5 discarded from, 6 the last day of partitions to look at, or null for
-- all. Rows: one, how many, and the last end and discard among them. Locks: the
-- rows, as far as they are free.
WITH ended AS MATERIALIZED (
    SELECT id, day, finished_at FROM steadfast.job
    WHERE
        state IN (2, 4) AND finished_at >= $4 AND finished_at < $1 AND day <= coalesce($6, 2147483647)
        AND (idempotency_key IS NULL OR created_at <= $2)
    ORDER BY finished_at
    LIMIT $3
    FOR UPDATE SKIP LOCKED
),
discarded AS MATERIALIZED (
    SELECT id, day, resolved_at FROM steadfast.job
    WHERE
        resolved_at IS NOT NULL AND resolved_at >= $5 AND resolved_at < $1 AND day <= coalesce($6, 2147483647)
        AND (idempotency_key IS NULL OR created_at <= $2)
    ORDER BY resolved_at
    LIMIT $3 - (SELECT count(*) FROM ended)
    FOR UPDATE SKIP LOCKED
),
old AS MATERIALIZED (SELECT id, day FROM ended UNION ALL SELECT id, day FROM discarded),
gone AS (
    DELETE FROM steadfast.job USING old
    WHERE job.id = old.id AND job.day = old.day
    RETURNING job.id, job.lane, job.state, job.idempotency_key, job.links, job.tags
),
forgotten AS MATERIALIZED (
    SELECT steadfast.forget(id, state, links, tags) AS one FROM gone WHERE links IS NOT NULL OR tags IS NOT NULL
),
attempts AS (DELETE FROM steadfast.attempt USING old WHERE attempt.job = old.id),
steps AS (DELETE FROM steadfast.once USING old WHERE once.job = old.id),
logs AS (DELETE FROM steadfast.log USING old WHERE log.job = old.id),
keys AS (
    DELETE FROM steadfast.idempotency AS held
    USING gone, steadfast.lane
    WHERE
        gone.idempotency_key IS NOT NULL AND lane.id = gone.lane
        AND held.tenant = lane.tenant AND held.idempotency_key = gone.idempotency_key
        AND held.job = gone.id
),
counted AS (
    INSERT INTO steadfast.count_change (lane, succeeded, failed, cancelled)
    SELECT
        lane, - count(*) FILTER (WHERE state = 2), - count(*) FILTER (WHERE state = 3),
        - count(*) FILTER (WHERE state = 4)
    FROM gone
    GROUP BY lane
)
SELECT
    count(*) AS deleted, (SELECT max(finished_at) FROM ended) AS last_ended,
    (SELECT max(resolved_at) FROM discarded) AS last_discarded,
    (SELECT count(one) FROM forgotten) AS referred
FROM gone
