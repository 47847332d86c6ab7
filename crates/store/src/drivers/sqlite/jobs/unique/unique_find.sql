-- The unfinished jobs that may have a unique key, those that wait first.
-- Parameters: 1 number of the key. Rows: job_row. Locks: read.
SELECT * FROM steadfast_job_row
WHERE unique_number = ?1 AND unique_number IS NOT NULL AND state IN (0, 1)
ORDER BY state, id
