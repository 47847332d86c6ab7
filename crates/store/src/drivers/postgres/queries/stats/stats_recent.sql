-- The attempts of every lane since a minute.
-- Parameters: 1 minute. Rows: lane, tally. Locks: none.
SELECT
    lane, sum(attempts)::bigint AS attempts, sum(successes)::bigint AS successes,
    sum(failures)::bigint AS failures, sum(retries)::bigint AS retries,
    sum(successful_retries)::bigint AS successful_retries, sum(exhausted)::bigint AS exhausted
FROM (
    SELECT lane, attempts, successes, failures, retries, successful_retries, exhausted
    FROM steadfast.minute WHERE minute >= $1
    UNION ALL
    SELECT lane, attempts, successes, failures, retries, successful_retries, exhausted
    FROM steadfast.count_change WHERE minute >= $1
) AS all_parts
GROUP BY lane
