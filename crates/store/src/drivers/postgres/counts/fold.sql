-- Moves changes of counts into the totals. Totals are changed in the order of their keys, so
-- that two nodes that do this at once do not wait for each other in a circle.
-- Parameters: 1 limit. Rows: one, how many changes were moved. Locks: the rows moved, as far
-- as they are free, and the totals of their lanes.
WITH moved AS (
    DELETE FROM steadfast.count_change
    WHERE seq = ANY(ARRAY(SELECT seq FROM steadfast.count_change LIMIT $1 FOR UPDATE SKIP LOCKED))
    RETURNING *
),
lanes AS (
    INSERT INTO steadfast.lane_count AS total (
        lane, waiting, running, succeeded, failed, cancelled, dead_letters, attempts, successes,
        failures, retries, successful_retries, exhausted, retrying
    )
    SELECT
        lane, sum(waiting), sum(running), sum(succeeded), sum(failed), sum(cancelled),
        sum(dead_letters), sum(attempts), sum(successes), sum(failures), sum(retries),
        sum(successful_retries), sum(exhausted), sum(retrying)
    FROM moved
    GROUP BY lane
    ORDER BY lane
    ON CONFLICT (lane) DO UPDATE SET
        waiting = total.waiting + excluded.waiting,
        running = total.running + excluded.running,
        succeeded = total.succeeded + excluded.succeeded,
        failed = total.failed + excluded.failed,
        cancelled = total.cancelled + excluded.cancelled,
        dead_letters = total.dead_letters + excluded.dead_letters,
        attempts = total.attempts + excluded.attempts,
        successes = total.successes + excluded.successes,
        failures = total.failures + excluded.failures,
        retries = total.retries + excluded.retries,
        successful_retries = total.successful_retries + excluded.successful_retries,
        exhausted = total.exhausted + excluded.exhausted,
        retrying = total.retrying + excluded.retrying
),
waiting AS (
    INSERT INTO steadfast.waiting_count AS total (minute, lane, waiting, retrying)
    SELECT due_minute, lane, sum(waiting), sum(retrying)
    FROM moved
    WHERE due_minute IS NOT NULL
    GROUP BY due_minute, lane
    ORDER BY due_minute, lane
    ON CONFLICT (minute, lane) DO UPDATE SET
        waiting = total.waiting + excluded.waiting,
        retrying = total.retrying + excluded.retrying
),
minutes AS (
    INSERT INTO steadfast.minute AS total (
        minute, lane, attempts, successes, failures, retries, successful_retries, exhausted
    )
    SELECT
        minute, lane, sum(attempts), sum(successes), sum(failures), sum(retries),
        sum(successful_retries), sum(exhausted)
    FROM moved
    WHERE minute IS NOT NULL
    GROUP BY minute, lane
    ORDER BY minute, lane
    ON CONFLICT (minute, lane) DO UPDATE SET
        attempts = total.attempts + excluded.attempts,
        successes = total.successes + excluded.successes,
        failures = total.failures + excluded.failures,
        retries = total.retries + excluded.retries,
        successful_retries = total.successful_retries + excluded.successful_retries,
        exhausted = total.exhausted + excluded.exhausted
)
SELECT count(*) AS moved FROM moved
