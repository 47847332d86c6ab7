-- The waiting jobs of the lanes of a tenant, or of all, up to a minute, that minute apart from those
-- before it.
-- Parameters: 1 minute, 2 tenant or null. Rows: lane, present (whether it is that minute), waiting, retrying.
-- Locks: none.
SELECT
    lane, minute = $1 AS present, sum(waiting)::bigint AS waiting,
    sum(retrying)::bigint AS retrying
FROM (
    SELECT minute, lane, waiting, retrying FROM steadfast.waiting_count WHERE minute <= $1
    UNION ALL
    SELECT due_minute, lane, waiting, retrying FROM steadfast.count_change WHERE due_minute <= $1
) AS all_parts
WHERE $2::text IS NULL OR lane IN (SELECT id FROM steadfast.lane WHERE tenant = $2)
GROUP BY lane, minute = $1
