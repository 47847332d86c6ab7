-- The record of an attempt.
-- Parameters: 1 job, 2 fence, 3 job id. Rows: attempt, with the job id as job, at most one.
-- Locks: read.
SELECT
    ?3 AS job, fence, attempt, attempts_before, status, started_at, finished_at, worker, failure,
    output, note, decision, usage
FROM steadfast_attempt
WHERE job = ?1 AND fence = ?2
