-- Jobs that never started and may not start any more, the longest late first.
-- The time is a subquery, so that it is asked once and bounds the scan of the index.
-- Parameters: 1 now or null, 2 limit. Rows: id. Locks: none.
SELECT job.id FROM steadfast.job_hot AS job
WHERE
    job.start_before <= (SELECT steadfast.time($1)) AND job.start_before IS NOT NULL
    AND job.state = 0 AND job.attempt = 0 AND job.snoozes = 0
ORDER BY job.start_before
LIMIT $2
