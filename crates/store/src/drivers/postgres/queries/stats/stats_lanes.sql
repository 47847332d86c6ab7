-- The counts of lanes: totals, and what was not moved into them yet.
-- Parameters: 1 lanes, or null for all. Rows: lane, counts. Locks: none.
SELECT
    lane, sum(waiting)::bigint AS waiting, sum(retrying)::bigint AS retrying, sum(running)::bigint AS running,
    sum(succeeded)::bigint AS succeeded, sum(failed)::bigint AS failed,
    sum(cancelled)::bigint AS cancelled, sum(dead_letters)::bigint AS dead_letters,
    sum(attempts)::bigint AS attempts, sum(successes)::bigint AS successes,
    sum(failures)::bigint AS failures, sum(retries)::bigint AS retries,
    sum(successful_retries)::bigint AS successful_retries, sum(exhausted)::bigint AS exhausted
FROM (
    SELECT
        lane, waiting, retrying, running, succeeded, failed, cancelled, dead_letters, attempts,
        successes, failures, retries, successful_retries, exhausted
    FROM steadfast.lane_count
    UNION ALL
    SELECT
        lane, waiting, retrying, running, succeeded, failed, cancelled, dead_letters, attempts,
        successes, failures, retries, successful_retries, exhausted
    FROM steadfast.count_change
) AS all_parts
WHERE $1::bigint[] IS NULL OR lane = ANY($1)
GROUP BY lane
