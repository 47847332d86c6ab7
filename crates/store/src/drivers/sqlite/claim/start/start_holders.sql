-- Attempts that run, those whose leases end first.
-- Parameters: 1 limit. Rows: as named. Locks: read.
SELECT
    id, lane, flow_key, destination, concurrency_key, worker,
    coalesce(started_at, created_at) AS since
FROM steadfast_job INDEXED BY steadfast_job_running
WHERE state = 1
ORDER BY lease_until
LIMIT ?1
