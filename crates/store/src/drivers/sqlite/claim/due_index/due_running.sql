-- How many attempts run, by flow key. Reads all that run.
-- Parameters: none. Rows: as named. Locks: read.
SELECT lane, flow_key, destination, concurrency_key, count(*) AS running
FROM steadfast_job INDEXED BY steadfast_job_running
WHERE state = 1
GROUP BY lane, flow_key
