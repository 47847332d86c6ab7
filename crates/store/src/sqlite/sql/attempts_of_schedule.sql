-- Attempts of all runs of a schedule, newest first.
-- Parameters: 1 schedule, 2–4 below this time, job and fence, 5 limit. Rows: job id, then
-- attempt. Locks: read.
SELECT
    found.job, attempt.fence, attempt.attempt, attempt.status, attempt.started_at,
    attempt.finished_at, attempt.worker, attempt.failure, attempt.output, attempt.note,
    attempt.decision
FROM schedule_attempt AS found
CROSS JOIN job ON job.id = found.job
CROSS JOIN attempt ON attempt.job = job.seq AND attempt.fence = found.fence
WHERE found.schedule = ?1 AND (found.finished_at, found.job, found.fence) < (?2, ?3, ?4)
ORDER BY found.finished_at DESC, found.job DESC, found.fence DESC
LIMIT ?5
