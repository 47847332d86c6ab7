-- Attempts of a job, newest first. Keys are sorted before rows are fetched, because rows are
-- large and a clock that was set back may have ended them out of order.
-- Parameters: 1 job id, 2 and 3 below this time and fence, 4 limit. Rows: job id, then attempt.
-- Locks: read.
SELECT
    ?1, attempt.fence, attempt.attempt, attempt.status, attempt.started_at, attempt.finished_at,
    attempt.worker, attempt.failure, attempt.output, attempt.note, attempt.decision
FROM (
    SELECT job, fence, finished_at FROM attempt
    WHERE job = (SELECT seq FROM job WHERE id = ?1) AND (finished_at, fence) < (?2, ?3)
    ORDER BY finished_at DESC, fence DESC
    LIMIT ?4
) AS found
CROSS JOIN attempt ON attempt.job = found.job AND attempt.fence = found.fence
ORDER BY found.finished_at DESC, found.fence DESC
