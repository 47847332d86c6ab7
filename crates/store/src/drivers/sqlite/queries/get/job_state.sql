-- The state of one job.
-- Parameters: 1 job id. Rows: state, at most one. Locks: read.
SELECT state FROM steadfast_job WHERE id = ?1
