-- How many attempts run, by sublane. Reads all that run.
-- Parameters: none. Rows: as named. Locks: read.
SELECT lane, sublane, destination, concurrency_key, count(*) AS running
FROM steadfast_job INDEXED BY steadfast_job_running
WHERE state = 1
GROUP BY lane, sublane
