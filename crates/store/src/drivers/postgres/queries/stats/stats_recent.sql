-- The attempts of the lanes of a tenant, or of all, since a minute.
-- Parameters: 1 minute, 2 tenant or null. Rows: lane, tally. Locks: none.
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
WHERE $2::text IS NULL OR lane IN (SELECT id FROM steadfast.lane WHERE tenant = $2)
GROUP BY lane
