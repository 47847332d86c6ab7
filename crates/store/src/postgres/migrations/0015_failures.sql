-- Schema 15: failures of one cause are counted together.
--
-- Reads every job once, for the index: some seconds per million. What failed before, or fails on a
-- node of the version before, belongs to no group until it fails again.
-- Locks: an advisory lock, which the runner holds; the table of jobs while the index is made.

-- The number of the group that the newest failure belongs to; only jobs with one pay for the index.
ALTER TABLE steadfast.job ADD COLUMN failure_group bigint;
CREATE INDEX job_failure_group ON steadfast.job (failure_group, id) WHERE failure_group IS NOT NULL;

CREATE TYPE steadfast.transition_v3 AS (
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
    exhausted integer,
    failure_group bigint
);

-- A group: its body, and the columns by which it is found.
CREATE TABLE steadfast.failure (
    tenant text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    count bigint NOT NULL,
    state text COLLATE "C" NOT NULL,
    state_since bigint NOT NULL,
    last_seen bigint NOT NULL,
    dead_letters bigint NOT NULL,
    body text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, fingerprint)
);

-- The order in which groups are listed, of a tenant and of all.
CREATE INDEX failure_of_tenant ON steadfast.failure (tenant, count, fingerprint);
CREATE INDEX failure_by_count ON steadfast.failure (count, tenant, fingerprint);
-- What alerts look for.
CREATE INDEX failure_new ON steadfast.failure (state, state_since) WHERE state IN ('new', 'regressed');
-- What retention may delete.
CREATE INDEX failure_old ON steadfast.failure (last_seen) WHERE dead_letters = 0;

-- What transactions have counted, until it is added to the groups: nodes that settle failures of one
-- cause at the same time must not wait for one row.
CREATE TABLE steadfast.failure_change (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    tally text COLLATE "C" NOT NULL
);
