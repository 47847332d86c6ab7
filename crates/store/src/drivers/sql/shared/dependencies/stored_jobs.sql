-- Jobs as others see them that are to wait for them, in the order of their ids.
-- Parameters: ids. Rows: id, tenant, state, whether it was discarded, created_at. Locks: none.
SELECT job.id, lane.tenant, job.state, job.resolved_at IS NOT NULL, job.created_at
FROM steadfast_job AS job
INNER JOIN steadfast_lane AS lane ON lane.id = job.lane
WHERE job.id IN (/*list*/)
ORDER BY job.id
