-- The oldest unfinished job of a concurrency key: no other one of the key may start.
-- Parameters: 1 number of the key. Rows: job_row, at most one. Locks: read.
SELECT * FROM steadfast_job_row
WHERE key_number = ?1 AND state IN (0, 1)
ORDER BY created_at, id
LIMIT 1
