-- Schema 2: the webhook of a job, and small records beside the jobs.
--
-- Locks: the whole file for writing, for the time of this script.

-- JSON; of a delivery, where it is delivered. Holds secrets.
ALTER TABLE steadfast_job ADD COLUMN webhook TEXT;

DROP VIEW steadfast_job_row;
CREATE VIEW steadfast_job_row AS
SELECT
    seq, lane, state, priority, run_at, fence, attempt, attempts_before, cancel_requested,
    lease_until, started_at, first_started_at, finished_at, resolved_at, worker, snoozes,
    last_delay, reason, failure, note, id, policy, at_most_once, timeout, lease, created_at,
    idempotency_key, schedule, tick, tags,
    coalesce(payload, (SELECT body FROM steadfast_payload WHERE steadfast_payload.job = steadfast_job.seq)) AS payload,
    webhook
FROM steadfast_job;

-- Endpoints, keys, states of alerts: few, small, and changed only by a caller that saw
-- the last change.
CREATE TABLE steadfast_document (
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (space, id)
) STRICT, WITHOUT ROWID;
