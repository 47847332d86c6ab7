-- How many jobs a file has.
-- Parameters: none. Rows: one, count. Locks: read.
SELECT count(*) AS count FROM steadfast_job
