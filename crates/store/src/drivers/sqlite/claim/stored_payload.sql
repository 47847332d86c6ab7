-- The payload of a job as it is stored.
-- Parameters: 1 row of the job. Rows: payload, at most one. Locks: none.
SELECT payload FROM steadfast_job_row WHERE seq = ?1
