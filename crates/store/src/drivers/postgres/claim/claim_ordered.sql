-- The oldest unfinished jobs of concurrency keys: no other ones of the keys may start.
-- Parameters: 1 numbers of keys. Rows: as named, one for each key that has any. Locks: none.
SELECT
    asked.number, first.id, first.lane, first.flow_key, first.level, first.run_at, first.state
FROM unnest($1::bigint[]) AS asked (number)
CROSS JOIN LATERAL (
    SELECT
        job.id, job.lane, job.flow_key,
        job.level, job.run_at,
        job.state
    FROM steadfast.job_hot AS job
    WHERE job.key_number = asked.number AND job.key_number IS NOT NULL AND job.state IN (0, 1)
    ORDER BY job.created_at, job.id
    LIMIT 1
) AS first
