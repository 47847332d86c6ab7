-- The stored counts of waiting jobs by minute; what is before a minute counts as minute 0.
-- Parameters: 1 minute. Rows: as named. Locks: none.
SELECT
    lane, CASE WHEN minute < $1 THEN 0 ELSE minute END AS minute,
    sum(waiting)::bigint AS waiting, sum(retrying)::bigint AS retrying
FROM (
    SELECT minute, lane, waiting, retrying FROM steadfast.waiting_count
    UNION ALL
    SELECT due_minute, lane, waiting, retrying FROM steadfast.count_change
    WHERE due_minute IS NOT NULL
) AS all_parts
GROUP BY 1, 2
