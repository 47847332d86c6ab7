-- Begins a search for unused lanes and policies, unless one began less than a day ago.
-- Parameters: 1 now or null, 2 a day. Rows: one, now, if it begins. Locks: the row, if it is free.
WITH clock AS (SELECT steadfast.time($1) AS now),
last AS (SELECT at FROM steadfast.name_search FOR UPDATE SKIP LOCKED)
UPDATE steadfast.name_search SET at = clock.now
FROM clock, last
WHERE last.at > clock.now OR last.at <= clock.now - $2::bigint
RETURNING clock.now
