-- The stored counters of lanes.
-- Parameters: none. Rows: as named. Locks: none.
SELECT
    lane, sum(waiting)::bigint AS waiting, sum(running)::bigint AS running,
    sum(succeeded)::bigint AS succeeded, sum(failed)::bigint AS failed,
    sum(cancelled)::bigint AS cancelled, sum(dead_letters)::bigint AS dead_letters,
    sum(retrying)::bigint AS retrying
FROM (
    SELECT lane, waiting, running, succeeded, failed, cancelled, dead_letters, retrying
    FROM steadfast.lane_count
    UNION ALL
    SELECT lane, waiting, running, succeeded, failed, cancelled, dead_letters, retrying
    FROM steadfast.count_change
) AS all_parts
GROUP BY lane
