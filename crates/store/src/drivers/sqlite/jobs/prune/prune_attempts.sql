-- Deletes the attempt records of a job.
-- Parameters: 1 job. Rows: none. Locks: write.
DELETE FROM steadfast_attempt WHERE job = ?1
