-- Deletes the results of a job's steps.
-- Parameters: 1 job id. Rows: none. Locks: write.
DELETE FROM steadfast_once WHERE job = ?1
