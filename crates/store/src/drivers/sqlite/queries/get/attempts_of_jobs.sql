-- The first attempts of a job, without what they produced.
-- Parameters: 1 job id, 2 limit. Rows: attempt, with the job id as job. Locks: read.
SELECT
    ?1 AS job, fence, attempt, attempts_before, status, started_at, finished_at, worker, failure,
    NULL AS output, NULL AS note, decision, usage
FROM steadfast_attempt
WHERE job = (SELECT seq FROM steadfast_job WHERE id = ?1)
ORDER BY fence
LIMIT ?2
