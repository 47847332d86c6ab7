-- The row of a job, with what does not change while it runs.
-- Parameters: 1 job id. Rows: as named, at most one. Locks: read.
SELECT seq, lane, flow_key, priority, schedule
FROM steadfast_job
WHERE id = ?1
