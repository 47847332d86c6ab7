-- Schema 15: unique jobs, and jobs that must not start late.
--
-- Locks: the whole file for writing, for the time of this script.

-- The number of the unique key within its tenant; null if there is none.
ALTER TABLE steadfast_job ADD COLUMN unique_number INTEGER;
-- When it is too late for the first attempt to start; null if it never is.
ALTER TABLE steadfast_job ADD COLUMN start_before INTEGER;

DROP VIEW steadfast_job_row;
CREATE VIEW steadfast_job_row AS
SELECT
    seq, lane, state, priority, run_at, fence, attempt, attempts_before, cancel_requested,
    lease_until, started_at, first_started_at, finished_at, resolved_at, worker, snoozes,
    last_delay, reason, failure, note, id, policy, at_most_once, timeout, lease, created_at,
    idempotency_key, schedule, tick, tags,
    coalesce(payload, (SELECT body FROM steadfast_payload WHERE steadfast_payload.job = steadfast_job.seq)) AS payload,
    webhook, sublane, destination, concurrency_key, key_number, traceparent, extras, unique_number,
    start_before
FROM steadfast_job;

-- The unfinished jobs of a unique key; only jobs with one pay for it.
CREATE INDEX steadfast_job_unique ON steadfast_job (unique_number)
    WHERE unique_number IS NOT NULL AND state IN (0, 1);
-- Jobs that never started, by when it is too late.
CREATE INDEX steadfast_job_start_before ON steadfast_job (start_before)
    WHERE start_before IS NOT NULL AND state = 0 AND attempt = 0 AND snoozes = 0;
