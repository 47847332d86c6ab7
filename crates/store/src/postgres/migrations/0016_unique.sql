-- Schema 16: unique jobs, and jobs that must not start late.
--
-- Nodes of the version before go on: they make no such jobs. They may start a job late.
-- Locks: an advisory lock, which the runner holds, and the table of jobs while columns are added.

-- The number of the unique key within its tenant; null if there is none.
ALTER TABLE steadfast.job ADD COLUMN unique_number bigint;
-- When it is too late for the first attempt to start; null if it never is.
ALTER TABLE steadfast.job ADD COLUMN start_before bigint;

-- The unfinished jobs of a unique key; only jobs with one pay for it.
CREATE INDEX job_unique ON steadfast.job (unique_number)
    WHERE unique_number IS NOT NULL AND state IN (0, 1);
-- Jobs that never started, by when it is too late.
CREATE INDEX job_start_before ON steadfast.job (start_before)
    WHERE start_before IS NOT NULL AND state = 0 AND attempt = 0 AND snoozes = 0;

CREATE TYPE steadfast.new_job_v4 AS (
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
    key_number bigint,
    traceparent text,
    extras text,
    unique_number bigint,
    start_before bigint,
    start_within bigint
);
