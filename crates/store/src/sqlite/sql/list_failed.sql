-- Failed jobs, newest id first.
-- Parameters: 1 ids below this, 2 unused. Rows: job_row. Locks: read.
SELECT * FROM steadfast_job_row WHERE state = 3 AND id < ?1 AND ?2 IS NULL ORDER BY id DESC
