-- The result of a step of a job.
-- Parameters: 1 job id, 2 step. Rows: result, at most one. Locks: read.
SELECT result FROM steadfast_once WHERE job = ?1 AND step = ?2
