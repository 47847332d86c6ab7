-- Schema 10: what may start, and whose turn it is.
--
-- Reads every waiting job once, for the index: some seconds per million. Nodes of the version before
-- go on: their jobs have no destination, and they claim without looking at gates.
-- Locks: an advisory lock, which the runner holds, and the table of jobs while indexes are made.

-- A lane's jobs of one destination and concurrency key; null if they have neither.
ALTER TABLE steadfast.job ADD COLUMN sublane bigint;
-- The number of the concurrency key within its tenant.
ALTER TABLE steadfast.job ADD COLUMN key_number bigint;
-- The gates at which the attempt that runs is counted.
ALTER TABLE steadfast.job ADD COLUMN gates bigint[];
ALTER TABLE steadfast.job ADD COLUMN destination text COLLATE "C";
ALTER TABLE steadfast.job ADD COLUMN concurrency_key text COLLATE "C";

-- What claims search: one due range for each sublane and level, which is a priority, first attempts
-- and retries apart. Statistics search the ranges of a lane.
CREATE INDEX job_due ON steadfast.job (
    lane, coalesce(sublane, 0), (priority * 2 + (attempt > attempts_before)::integer), run_at
) WHERE state = 0;
DROP INDEX steadfast.job_waiting;
DROP INDEX steadfast.job_retrying;

-- The unfinished jobs of a concurrency key, in the order of their creation; only jobs with one pay
-- for it.
CREATE INDEX job_key ON steadfast.job (key_number, created_at, id)
    WHERE key_number IS NOT NULL AND state IN (0, 1);

-- Jobs that wait for the end of time, because a claim could not read them.
CREATE INDEX job_set_aside ON steadfast.job (id) WHERE state = 0 AND run_at = 253402207200000000;

-- How gates stand. A claim that passes gates holds their rows while it looks how many attempts run,
-- so that two cannot take the same room; what ends an attempt never waits for them.
CREATE TABLE steadfast.gate (
    number bigint PRIMARY KEY,
    next_start bigint NOT NULL DEFAULT 0,
    minute bigint NOT NULL DEFAULT 0,
    starts bigint NOT NULL DEFAULT 0,
    retries bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- The attempts that run, by gate.
CREATE TABLE steadfast.gate_running (
    gate bigint NOT NULL,
    job uuid NOT NULL,
    PRIMARY KEY (gate, job)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE TYPE steadfast.new_job_v2 AS (
    id uuid,
    lane integer,
    policy integer,
    priority smallint,
    run_at bigint,
    delay bigint,
    at_most_once boolean,
    timeout bigint,
    lease bigint,
    idempotency_key text,
    schedule uuid,
    tick bigint,
    tags text,
    payload text,
    webhook text,
    sublane bigint,
    destination text,
    concurrency_key text,
    key_number bigint
);
