-- Attempts of a job, newest first. Keys are sorted before rows are fetched, because rows are
-- large and a clock that was set back may have ended them out of order.
-- Parameters: 1 job id, 2 and 3 below this time and fence, 4 limit. Rows: attempt, with the job
-- id as job. Locks: read.
SELECT
    ?1 AS job, kept.fence, kept.attempt, kept.attempts_before, kept.status, kept.started_at,
    kept.finished_at, kept.worker, kept.failure, kept.output, kept.note, kept.decision,
    kept.usage
FROM (
    SELECT job, fence, finished_at FROM steadfast_attempt
    WHERE job = (SELECT seq FROM steadfast_job WHERE id = ?1) AND (finished_at, fence) < (?2, ?3)
    ORDER BY finished_at DESC, fence DESC
    LIMIT ?4
) AS found
CROSS JOIN steadfast_attempt AS kept ON kept.job = found.job AND kept.fence = found.fence
ORDER BY found.finished_at DESC, found.fence DESC
