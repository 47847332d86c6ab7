-- Attempts of all runs of a schedule, newest first.
-- Parameters: 1 schedule, 2–4 below this time, job and fence, 5 limit. Rows: attempt, with the
-- job id as job. Locks: read.
SELECT
    found.job, kept.fence, kept.attempt, kept.attempts_before, kept.status, kept.started_at,
    kept.finished_at, kept.worker, kept.failure, kept.output, kept.note, kept.decision,
    kept.usage
FROM steadfast_schedule_attempt AS found
CROSS JOIN steadfast_job ON steadfast_job.id = found.job
CROSS JOIN steadfast_attempt AS kept ON kept.job = steadfast_job.seq AND kept.fence = found.fence
WHERE found.schedule = ?1 AND (found.finished_at, found.job, found.fence) < (?2, ?3, ?4)
ORDER BY found.finished_at DESC, found.job DESC, found.fence DESC
LIMIT ?5
