-- The attempts of the lanes of a tenant, or of all, since a minute.
-- Parameters: 1 minute, 2 tenant or null. Rows: lane, tally. Locks: read.
SELECT
    lane, sum(attempts) AS attempts, sum(successes) AS successes, sum(failures) AS failures,
    sum(retries) AS retries, sum(successful_retries) AS successful_retries,
    sum(exhausted) AS exhausted
FROM steadfast_minute
WHERE
    minute >= ?1
    AND (?2 IS NULL OR lane IN (SELECT id FROM steadfast_lane WHERE tenant = ?2))
GROUP BY lane
