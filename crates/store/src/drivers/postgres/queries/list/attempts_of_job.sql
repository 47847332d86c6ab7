-- Attempts of a job, newest first; a clock that was set back may have ended them out of order.
-- Parameters: 1 job id, 2 to 4 below this time, job and fence, 5 limit. Rows: attempt.
-- Locks: none.
SELECT
    job, fence, attempt, attempts_before, status, started_at, finished_at, worker, failure,
    output, note, decision
FROM steadfast.attempt
WHERE job = $1 AND (day = 0 OR day = steadfast.day_of($1)) AND (finished_at, job, fence) < ($2, $3, $4)
ORDER BY finished_at DESC, fence DESC
LIMIT $5
