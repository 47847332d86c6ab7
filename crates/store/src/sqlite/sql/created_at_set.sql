-- Sets the time of a job's creation.
-- Parameters: 1 job id, 2 created_at. Rows: none. Locks: write.
UPDATE steadfast_job SET created_at = ?2 WHERE id = ?1
