-- Takes a job that cannot be read out of the way of the others. It stays where it can be mended.
-- Parameters: 1 job, 2 a time that does not come. Rows: none. Locks: write.
UPDATE steadfast_job SET run_at = ?2 WHERE seq = ?1
