-- Attempts by the minute in which they ended, of a tenant or of all.
-- Parameters: 1 first minute, 2 tenant or null. Rows: minute, tally. Locks: read.
SELECT
    minute, sum(m.attempts) AS attempts, sum(m.successes) AS successes,
    sum(m.failures) AS failures, sum(m.retries) AS retries,
    sum(m.successful_retries) AS successful_retries, sum(m.exhausted) AS exhausted
FROM steadfast_minute AS m
JOIN steadfast_lane AS lane ON lane.id = m.lane
WHERE minute >= ?1 AND (?2 IS NULL OR lane.tenant = ?2)
GROUP BY minute
ORDER BY minute
