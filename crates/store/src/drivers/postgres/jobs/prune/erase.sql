-- Deletes jobs that have ended and are no dead letters, with all that belongs to them.
-- Parameters: 1 job ids, 2 the day of their partition, or null for any. Rows: none. Locks: the rows.
WITH old AS MATERIALIZED (
    SELECT id, day FROM steadfast.job
    WHERE id = ANY($1::uuid[]) AND state IN (2, 3, 4) AND ($2::integer IS NULL OR day = $2)
    FOR UPDATE
),
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
SELECT count(*) AS deleted, (SELECT count(one) FROM forgotten) AS referred FROM gone
