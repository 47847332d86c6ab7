-- Attempts of all runs of a schedule, newest first.
-- Parameters: 1 schedule, 2–4 below this time, job and fence, 5 limit. Rows: job id, then
-- attempt. Locks: read.
SELECT
    found.job, steadfast_attempt.fence, steadfast_attempt.attempt, steadfast_attempt.status, steadfast_attempt.started_at,
    steadfast_attempt.finished_at, steadfast_attempt.worker, steadfast_attempt.failure, steadfast_attempt.output, steadfast_attempt.note,
    steadfast_attempt.decision
FROM steadfast_schedule_attempt AS found
CROSS JOIN steadfast_job ON steadfast_job.id = found.job
CROSS JOIN steadfast_attempt ON steadfast_attempt.job = steadfast_job.seq AND steadfast_attempt.fence = found.fence
WHERE found.schedule = ?1 AND (found.finished_at, found.job, found.fence) < (?2, ?3, ?4)
ORDER BY found.finished_at DESC, found.job DESC, found.fence DESC
LIMIT ?5
