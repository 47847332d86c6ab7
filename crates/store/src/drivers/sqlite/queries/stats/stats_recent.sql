-- The attempts of every lane since a minute.
-- Parameters: 1 minute. Rows: lane, tally. Locks: read.
SELECT
    lane, sum(attempts) AS attempts, sum(successes) AS successes, sum(failures) AS failures,
    sum(retries) AS retries, sum(successful_retries) AS successful_retries,
    sum(exhausted) AS exhausted
FROM steadfast_minute
WHERE minute >= ?1
GROUP BY lane
