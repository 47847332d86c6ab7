-- Attempts of a job, newest first. Keys are sorted before rows are fetched, because rows are
-- large and a clock that was set back may have ended them out of order.
-- Parameters: 1 job id, 2 and 3 below this time and fence, 4 limit. Rows: job id, then attempt.
-- Locks: read.
SELECT
    ?1, steadfast_attempt.fence, steadfast_attempt.attempt, steadfast_attempt.status, steadfast_attempt.started_at, steadfast_attempt.finished_at,
    steadfast_attempt.worker, steadfast_attempt.failure, steadfast_attempt.output, steadfast_attempt.note, steadfast_attempt.decision
FROM (
    SELECT job, fence, finished_at FROM steadfast_attempt
    WHERE job = (SELECT seq FROM steadfast_job WHERE id = ?1) AND (finished_at, fence) < (?2, ?3)
    ORDER BY finished_at DESC, fence DESC
    LIMIT ?4
) AS found
CROSS JOIN steadfast_attempt ON steadfast_attempt.job = found.job AND steadfast_attempt.fence = found.fence
ORDER BY found.finished_at DESC, found.fence DESC
