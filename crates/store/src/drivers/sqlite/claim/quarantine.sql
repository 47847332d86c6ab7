-- Moves a job that cannot be read to the end of time, so that the others go on. It can be repaired.
-- Parameters: 1 job, 2 a time that does not come. Rows: none. Locks: write.
UPDATE steadfast_job SET run_at = ?2 WHERE seq = ?1
