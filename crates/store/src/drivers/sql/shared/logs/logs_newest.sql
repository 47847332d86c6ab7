-- The newest log of each of some jobs.
-- Parameters: job ids. Rows: job id, fence, whether it is of the attempt that the job is in, the number of
-- its first line, body. Locks: none.
SELECT log.job, log.fence, log.attempt = job.attempt, log.first_line, log.body
FROM steadfast_log AS log
JOIN steadfast_job AS job ON job.id = log.job
WHERE log.job IN (/*list*/)
    AND log.fence = (SELECT max(newer.fence) FROM steadfast_log AS newer WHERE newer.job = log.job)
