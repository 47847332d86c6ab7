-- The waiting jobs of every lane up to a minute, that minute apart from those before it.
-- Parameters: 1 minute. Rows: lane, present (whether it is that minute), waiting, retrying.
-- Locks: none.
SELECT
    lane, minute = $1 AS present, sum(waiting)::bigint AS waiting,
    sum(retrying)::bigint AS retrying
FROM (
    SELECT minute, lane, waiting, retrying FROM steadfast.waiting_count WHERE minute <= $1
    UNION ALL
    SELECT due_minute, lane, waiting, retrying FROM steadfast.count_change WHERE due_minute <= $1
) AS all_parts
GROUP BY lane, minute = $1
