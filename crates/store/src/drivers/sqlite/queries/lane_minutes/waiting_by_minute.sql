-- Waiting jobs by lane and the minute of their time, the earliest first.
-- Parameters: 1 last minute, 2 tenant or null, 3 limit. Rows: minute, lane, waiting, retrying.
-- Locks: read.
SELECT minute, lane, waiting, retrying
FROM steadfast_waiting
WHERE
    minute <= ?1
    AND (?2 IS NULL OR lane IN (SELECT id FROM steadfast_lane WHERE tenant = ?2))
ORDER BY minute
LIMIT ?3
