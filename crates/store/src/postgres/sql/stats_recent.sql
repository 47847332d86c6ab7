-- The attempts of every lane since a minute.
-- Parameters: 1 minute. Rows: lane, tally. Locks: none.
SELECT
    lane, sum(attempts)::bigint, sum(successes)::bigint, sum(failures)::bigint,
    sum(retries)::bigint, sum(successful_retries)::bigint, sum(exhausted)::bigint
FROM (
    SELECT lane, attempts, successes, failures, retries, successful_retries, exhausted
    FROM steadfast.minute WHERE minute >= $1
    UNION ALL
    SELECT lane, attempts, successes, failures, retries, successful_retries, exhausted
    FROM steadfast.counted WHERE minute >= $1
) AS both_parts
GROUP BY lane
