-- Schema 3: an attempt record knows its retry budget.
--
-- Nodes of the version before go on with `steadfast.transition`, and their records count from
-- the first attempt.
-- Locks: an advisory lock, which the runner holds; the table of attempts, for a moment.

-- How many attempts there were before the last manual retry, which started a new budget.
ALTER TABLE steadfast.attempt ADD COLUMN attempts_before bigint NOT NULL DEFAULT 0;

CREATE TYPE steadfast.transition_v2 AS (
    id uuid,
    held bigint,
    cancel_known boolean,
    must_have_expired boolean,
    state smallint,
    run_at bigint,
    fence bigint,
    attempt bigint,
    attempts_before bigint,
    cancel_requested boolean,
    lease_until bigint,
    started_at bigint,
    first_started_at bigint,
    finished_at bigint,
    resolved_at bigint,
    worker text,
    snoozes integer,
    last_delay bigint,
    reason text,
    failure text,
    note text,
    record_fence bigint,
    record_attempt bigint,
    record_attempts_before bigint,
    record_status text,
    record_started_at bigint,
    record_finished_at bigint,
    record_worker text,
    record_failure text,
    record_output text,
    record_note text,
    record_decision text,
    attempts integer,
    successes integer,
    failures integer,
    retries integer,
    successful_retries integer,
    exhausted integer
);
