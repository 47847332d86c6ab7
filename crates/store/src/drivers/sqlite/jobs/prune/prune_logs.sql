-- Deletes the logs of a job's attempts.
-- Parameters: 1 job id. Rows: none. Locks: write.
DELETE FROM steadfast_log WHERE job = ?1
