-- How jobs stand that others are to wait for.
-- Parameters: 1 job ids. Rows: as named. Locks: the rows, in the order of their ids, so that none
-- ends before those that wait for it are stored.
SELECT job.id, lane.tenant, job.state, job.resolved_at IS NOT NULL AS is_resolved, job.created_at
FROM steadfast.job
INNER JOIN steadfast.lane ON lane.id = job.lane
WHERE job.id = ANY($1::uuid[])
ORDER BY job.id
FOR UPDATE OF job
