-- How a job stands that another one waits for.
-- Parameters: 1 job id. Rows: as named, at most one. Locks: read.
SELECT lane.tenant, job.state, job.resolved_at IS NOT NULL AS is_resolved, job.created_at
FROM steadfast_job AS job
INNER JOIN steadfast_lane AS lane ON lane.id = job.lane
WHERE job.id = ?1
