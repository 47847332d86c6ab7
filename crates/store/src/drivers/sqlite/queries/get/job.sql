-- One job.
-- Parameters: 1 job id. Rows: job_row, at most one. Locks: read.
SELECT * FROM steadfast_job_row WHERE id = ?1
