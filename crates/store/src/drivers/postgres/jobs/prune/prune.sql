-- Deletes jobs that retention may delete, as `Job::may_be_pruned` says, with all that belongs to
-- them: succeeded and cancelled jobs by when they ended, and discarded ones by when they were
-- discarded, the oldest of each first. Both halves have an index of their own.
-- Parameters: 1 ended before, 2 keyed jobs created after this stay, 3 limit, 4 ended from,
-- 5 discarded from. Rows: one, how many, and the last end and discard among them. Locks: the
-- rows, as far as they are free.
WITH ended AS MATERIALIZED (
    SELECT id, finished_at FROM steadfast.job
    WHERE
        state IN (2, 4) AND finished_at >= $4 AND finished_at < $1
        AND (idempotency_key IS NULL OR created_at <= $2)
    ORDER BY finished_at
    LIMIT $3
    FOR UPDATE SKIP LOCKED
),
discarded AS MATERIALIZED (
    SELECT id, resolved_at FROM steadfast.job
    WHERE
        resolved_at IS NOT NULL AND resolved_at >= $5 AND resolved_at < $1
        AND (idempotency_key IS NULL OR created_at <= $2)
    ORDER BY resolved_at
    LIMIT $3 - (SELECT count(*) FROM ended)
    FOR UPDATE SKIP LOCKED
),
old AS MATERIALIZED (SELECT id FROM ended UNION ALL SELECT id FROM discarded),
gone AS (
    DELETE FROM steadfast.job USING old
    WHERE job.id = old.id
    RETURNING job.id, job.lane, job.state, job.idempotency_key
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
    (SELECT max(resolved_at) FROM discarded) AS last_discarded
FROM gone
