-- The attempts of every lane since a minute.
-- Parameters: 1 minute. Rows: lane, tally. Locks: read.
SELECT
    lane, sum(attempts), sum(successes), sum(failures), sum(retries), sum(successful_retries),
    sum(exhausted)
FROM steadfast_minute
WHERE minute >= ?1
GROUP BY lane
