-- Waiting jobs by lane and the minute of their time, the earliest first.
-- Parameters: 1 last minute, 2 tenant or null, 3 limit. Rows: minute, lane, waiting, retrying.
-- Locks: none.
SELECT minute, lane, sum(waiting)::bigint AS waiting, sum(retrying)::bigint AS retrying
FROM (
    SELECT minute, lane, waiting, retrying FROM steadfast.waiting_count WHERE minute <= $1
    UNION ALL
    SELECT due_minute, lane, waiting, retrying FROM steadfast.count_change WHERE due_minute <= $1
) AS all_parts
WHERE $2::text IS NULL OR lane IN (SELECT id FROM steadfast.lane WHERE tenant = $2)
GROUP BY minute, lane
ORDER BY minute
LIMIT $3
