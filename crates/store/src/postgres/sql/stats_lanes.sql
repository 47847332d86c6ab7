-- The counts of every lane: totals, and what was not moved into them yet.
-- Parameters: none. Rows: lane, counts. Locks: none.
SELECT
    lane, sum(waiting)::bigint, sum(running)::bigint, sum(succeeded)::bigint,
    sum(failed)::bigint, sum(cancelled)::bigint, sum(dead_letters)::bigint,
    sum(attempts)::bigint, sum(successes)::bigint, sum(failures)::bigint, sum(retries)::bigint,
    sum(successful_retries)::bigint, sum(exhausted)::bigint
FROM (
    SELECT
        lane, waiting, running, succeeded, failed, cancelled, dead_letters, attempts, successes,
        failures, retries, successful_retries, exhausted
    FROM steadfast.lane_count
    UNION ALL
    SELECT
        lane, waiting, running, succeeded, failed, cancelled, dead_letters, attempts, successes,
        failures, retries, successful_retries, exhausted
    FROM steadfast.counted
) AS both_parts
GROUP BY lane
