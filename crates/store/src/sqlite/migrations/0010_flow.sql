-- Schema 10: what may start, and whose turn it is.
--
-- Reads every waiting job once, for the index: some seconds per million.
-- Locks: the whole file for writing, for the time of this script.

-- A lane's jobs of one destination and concurrency key; null if they have neither.
ALTER TABLE steadfast_job ADD COLUMN sublane INTEGER;
ALTER TABLE steadfast_job ADD COLUMN destination TEXT;
ALTER TABLE steadfast_job ADD COLUMN concurrency_key TEXT;
-- The number of the concurrency key within its tenant.
ALTER TABLE steadfast_job ADD COLUMN key_number INTEGER;

DROP VIEW steadfast_job_row;
CREATE VIEW steadfast_job_row AS
SELECT
    seq, lane, state, priority, run_at, fence, attempt, attempts_before, cancel_requested,
    lease_until, started_at, first_started_at, finished_at, resolved_at, worker, snoozes,
    last_delay, reason, failure, note, id, policy, at_most_once, timeout, lease, created_at,
    idempotency_key, schedule, tick, tags,
    coalesce(payload, (SELECT body FROM steadfast_payload WHERE steadfast_payload.job = steadfast_job.seq)) AS payload,
    webhook, sublane, destination, concurrency_key, key_number
FROM steadfast_job;

-- What claims search: one due range for each sublane and level, which is a priority, first attempts
-- and retries apart. Statistics search the ranges of a lane.
DROP INDEX steadfast_job_waiting;
DROP INDEX steadfast_job_retrying;
CREATE INDEX steadfast_job_waiting ON steadfast_job (
    lane, coalesce(sublane, 0), priority * 2 + (attempt > attempts_before), run_at
) WHERE state = 0;

-- The unfinished jobs of a concurrency key, in the order of their creation; only jobs with one pay
-- for it.
CREATE INDEX steadfast_job_key ON steadfast_job (key_number, seq)
    WHERE key_number IS NOT NULL AND state IN (0, 1);

-- Jobs that wait for the end of time, because a claim could not read them.
CREATE INDEX steadfast_job_set_aside ON steadfast_job (id)
    WHERE state = 0 AND run_at = 253402207200000000;

-- How gates stand that limit starts; how many attempts run is counted from the jobs.
CREATE TABLE steadfast_gate (
    number INTEGER PRIMARY KEY,
    next_start INTEGER NOT NULL,
    minute INTEGER NOT NULL,
    starts INTEGER NOT NULL,
    retries INTEGER NOT NULL
) STRICT;
