-- How the next attempt of a job ended, unless that is known.
-- Parameters: 1 operation, 2 job, 3 outcome. Rows: none. Locks: write.
UPDATE steadfast_operation_job SET outcome = ?3, pending = 0
WHERE operation = ?1 AND job = ?2 AND pending = 2
