-- How many attempts run, by sublane. Reads all that run.
-- Parameters: none. Rows: as named. Locks: read.
SELECT lane, coalesce(sublane, 0) AS sublane, destination, concurrency_key, count(*) AS running
FROM steadfast_job INDEXED BY steadfast_job_running
WHERE state = 1
GROUP BY lane, coalesce(sublane, 0)
