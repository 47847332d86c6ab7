-- Deletes a job.
-- Parameters: 1 job. Rows: none. Locks: write.
DELETE FROM steadfast_job WHERE seq = ?1
