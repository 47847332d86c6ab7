-- The records of attempts.
-- Parameters: arrays with one entry per attempt: 1 job id, 2 fence. Rows: attempt. Locks: none.
SELECT
    attempt.job, attempt.fence, attempt.attempt, attempt.attempts_before, attempt.status,
    attempt.started_at, attempt.finished_at, attempt.worker, attempt.failure, attempt.output, attempt.note,
    attempt.decision, attempt.usage
FROM unnest($1::uuid[], $2::bigint[]) AS asked (job, fence)
JOIN steadfast.attempt ON attempt.job = asked.job AND attempt.fence = asked.fence
