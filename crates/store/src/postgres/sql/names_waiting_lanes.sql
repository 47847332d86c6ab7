-- The lanes of some counts by the minute for which jobs wait.
-- Parameters: 1 minute and 2 lane of the count before, 3 limit. Rows: minute, lane. Locks: none.
SELECT minute, lane FROM steadfast.waiting_count
WHERE (minute, lane) > ($1::bigint, $2::integer)
ORDER BY minute, lane
LIMIT $3
