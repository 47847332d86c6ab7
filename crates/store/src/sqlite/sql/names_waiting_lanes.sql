-- The lanes of some counts by the minute for which jobs wait.
-- Parameters: 1 minute and 2 lane of the count before, 3 limit. Rows: minute, lane. Locks: read.
SELECT minute, lane FROM steadfast_waiting WHERE (minute, lane) > (?1, ?2) ORDER BY minute, lane LIMIT ?3
