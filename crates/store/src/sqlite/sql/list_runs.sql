-- Runs of a schedule, newest id first.
-- Parameters: 1 ids below this, 2 schedule. Rows: job_row. Locks: read.
SELECT * FROM steadfast_job_row WHERE schedule = ?2 AND id < ?1 ORDER BY id DESC
