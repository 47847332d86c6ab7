-- How jobs stand that others wait for.
-- Parameters: 1 job ids. Rows: as named. Locks: none.
SELECT job.id, job.state, job.resolved_at IS NOT NULL AS is_resolved
FROM steadfast.job
WHERE job.id = ANY($1::uuid[])
