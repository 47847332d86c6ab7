-- Attempts of all runs of a schedule, newest first.
-- Parameters: 1 schedule, 2 to 4 below this time, job and fence, 5 limit. Rows: attempt.
-- Locks: none.
SELECT
    job, fence, attempt, attempts_before, status, started_at, finished_at, worker, failure,
    output, note, decision, usage
FROM steadfast.attempt
WHERE schedule = $1 AND schedule IS NOT NULL AND (finished_at, job, fence) < ($2, $3, $4)
ORDER BY finished_at DESC, job DESC, fence DESC
LIMIT $5
