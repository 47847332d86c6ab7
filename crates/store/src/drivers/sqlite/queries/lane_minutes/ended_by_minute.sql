-- Attempts by lane and the minute in which they ended, the newest first.
-- Parameters: 1 first minute, 2 tenant or null, 3 limit. Rows: minute, lane, tally. Locks: read.
SELECT minute, lane, attempts, successes, failures, retries, successful_retries, exhausted
FROM steadfast_minute
WHERE
    minute >= ?1
    AND (?2 IS NULL OR lane IN (SELECT id FROM steadfast_lane WHERE tenant = ?2))
ORDER BY minute DESC
LIMIT ?3
