-- Lets a job start at any time.
-- Parameters: 1 job. Rows: none. Locks: write.
UPDATE steadfast_job SET start_before = NULL WHERE seq = ?1
