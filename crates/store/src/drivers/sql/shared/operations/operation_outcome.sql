-- Stores the outcome of the next attempt of a job, if it is waited for.
-- Parameters: 1 operation, 2 job, 3 outcome. Rows: none. Locks: the row.
UPDATE steadfast_operation_job SET outcome = ?3, pending = 0
WHERE operation = ?1 AND job = ?2 AND pending = 2
