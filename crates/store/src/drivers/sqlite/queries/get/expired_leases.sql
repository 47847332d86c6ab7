-- Running jobs whose lease has expired, the longest first.
-- Parameters: 1 now, 2 limit. Rows: job_row. Locks: read.
SELECT * FROM steadfast_job_row WHERE state = 1 AND lease_until <= ?1 ORDER BY lease_until LIMIT ?2
