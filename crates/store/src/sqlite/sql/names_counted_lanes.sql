-- The lanes of some counts by the minute in which attempts ended.
-- Parameters: 1 minute and 2 lane of the count before, 3 limit. Rows: minute, lane. Locks: read.
SELECT minute, lane FROM steadfast_minute WHERE (minute, lane) > (?1, ?2) ORDER BY minute, lane LIMIT ?3
