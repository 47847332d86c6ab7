-- Schema 1: jobs, their attempts, schedules, and what is counted.
--
-- Times are microseconds since 1970 and not timestamps, so that every driver compares the same
-- numbers; durations are nanoseconds; public ids are UUIDs that sort. States: 0 waiting,
-- 1 running, 2 succeeded, 3 failed, 4 cancelled. `steadfast.` stands for the schema's name.
-- Locks: an advisory lock, which the runner holds.

-- The time that decides: the database's, unless a test brings its own.
-- Parameters: a time in the place of the database's, or null.
CREATE FUNCTION steadfast.time(given bigint) RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(given, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
$$;

-- One tenant's jobs of one kind in one queue: what claims choose between, and what is counted.
-- The checks are those of core: a name that core cannot read must not get in from SQL.
CREATE TABLE steadfast.lane (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL CHECK (tenant ~ '^[A-Za-z0-9_.:/@-]{1,128}$'),
    queue text COLLATE "C" NOT NULL CHECK (queue ~ '^[A-Za-z0-9_.:/@-]{1,128}$'),
    kind text COLLATE "C" NOT NULL CHECK (kind ~ '^[A-Za-z0-9_.:/@-]{1,128}$'),
    UNIQUE (tenant, queue, kind)
);

CREATE TABLE steadfast.paused (
    tenant text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, queue)
);

-- Many jobs share few retry policies. A digest is what is unique, because a policy may be
-- longer than an index entry.
CREATE TABLE steadfast.policy (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    body text NOT NULL
);
CREATE UNIQUE INDEX policy_body ON steadfast.policy (md5(body));

-- Counts. Nodes that commit at the same time must not queue for one row of totals, so each
-- transaction appends what it changed to `counted`; readers add both up, and a background
-- step moves the one into the other.
CREATE TABLE steadfast.lane_count (
    lane integer PRIMARY KEY,
    waiting bigint NOT NULL,
    running bigint NOT NULL,
    succeeded bigint NOT NULL,
    failed bigint NOT NULL,
    cancelled bigint NOT NULL,
    dead_letters bigint NOT NULL,
    attempts bigint NOT NULL,
    successes bigint NOT NULL,
    failures bigint NOT NULL,
    retries bigint NOT NULL,
    successful_retries bigint NOT NULL,
    exhausted bigint NOT NULL
) WITH (fillfactor = 50);

-- The same counts of attempts, by the minute in which they ended.
CREATE TABLE steadfast.minute (
    minute bigint NOT NULL,
    lane integer NOT NULL,
    attempts bigint NOT NULL,
    successes bigint NOT NULL,
    failures bigint NOT NULL,
    retries bigint NOT NULL,
    successful_retries bigint NOT NULL,
    exhausted bigint NOT NULL,
    PRIMARY KEY (minute, lane)
) WITH (fillfactor = 50);

-- Rows live for seconds: it is vacuumed often, so that readers do not walk over the dead.
CREATE TABLE steadfast.counted (
    minute bigint,
    lane integer NOT NULL,
    waiting integer NOT NULL DEFAULT 0,
    running integer NOT NULL DEFAULT 0,
    succeeded integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    cancelled integer NOT NULL DEFAULT 0,
    dead_letters integer NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    successes integer NOT NULL DEFAULT 0,
    failures integer NOT NULL DEFAULT 0,
    retries integer NOT NULL DEFAULT 0,
    successful_retries integer NOT NULL DEFAULT 0,
    exhausted integer NOT NULL DEFAULT 0
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0
);

-- Claims and commits write new versions of this row, so it is kept narrow: names and policies
-- are numbers, and a payload of more than about a kilobyte is moved out of the row, where new
-- versions share it (toast_tuple_target).
--
-- A claim changes which partial indexes a row is in, so it can never be a heap-only update;
-- what room in the page buys (fillfactor) is that the new version lies beside the old one and
-- the page is written once for both. Each job leaves two dead versions, and a claim must walk
-- over those that lie in front of its range: vacuum comes after a fixed small share and does
-- not pause, and statistics are taken as often, because a plan made for an empty table is slow
-- on a full one.
CREATE TABLE steadfast.job (
    id uuid NOT NULL,
    run_at bigint NOT NULL,
    fence bigint NOT NULL DEFAULT 0,
    attempt bigint NOT NULL DEFAULT 0,
    attempts_before bigint NOT NULL DEFAULT 0,
    lease_until bigint,
    started_at bigint,
    first_started_at bigint,
    finished_at bigint,
    resolved_at bigint,
    last_delay bigint,
    timeout bigint,
    lease bigint NOT NULL,
    created_at bigint NOT NULL,
    tick bigint,
    lane integer NOT NULL,
    policy integer NOT NULL,
    snoozes integer NOT NULL DEFAULT 0,
    state smallint NOT NULL DEFAULT 0,
    priority smallint NOT NULL,
    cancel_requested boolean NOT NULL DEFAULT false,
    at_most_once boolean NOT NULL,
    schedule uuid,
    worker text COLLATE "C",
    reason text COLLATE "C",
    failure text COLLATE "C",
    note text COLLATE "C",
    idempotency_key text COLLATE "C",
    tags text COLLATE "C",
    payload text COLLATE "C" NOT NULL,
    -- JSON; of a delivery, where it is delivered. Holds secrets.
    webhook text COLLATE "C",
    PRIMARY KEY (id)
) WITH (
    fillfactor = 70,
    toast_tuple_target = 1200,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_analyze_threshold = 5000
);

-- What claims search: one due range for each lane and priority. What runs, has ended, or lies
-- in the future is never passed over.
CREATE INDEX job_waiting ON steadfast.job (lane, priority, run_at) WHERE state = 0;
-- Which part of the waiting jobs is being retried, for statistics.
CREATE INDEX job_retrying ON steadfast.job (lane, run_at)
    WHERE state = 0 AND attempt > attempts_before;
-- What the sweeper searches.
CREATE INDEX job_running ON steadfast.job (lease_until) WHERE state = 1;
-- Dead letters, and those that were discarded.
CREATE INDEX job_failed ON steadfast.job (id) WHERE state = 3;
-- What retention may delete: dead letters count from when they were discarded.
CREATE INDEX job_ended ON steadfast.job (finished_at) WHERE state IN (2, 4);
CREATE INDEX job_discarded ON steadfast.job (resolved_at) WHERE resolved_at IS NOT NULL;
-- The runs of schedules.
CREATE INDEX job_run ON steadfast.job (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX job_run_unfinished ON steadfast.job (schedule, tick, id)
    WHERE schedule IS NOT NULL AND state IN (0, 1);

CREATE TABLE steadfast.idempotency (
    tenant text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    job uuid NOT NULL,
    fingerprint bytea NOT NULL,
    PRIMARY KEY (tenant, idempotency_key)
);

-- Written once and never changed; only retention deletes.
CREATE TABLE steadfast.attempt (
    job uuid NOT NULL,
    fence bigint NOT NULL,
    started_at bigint NOT NULL,
    finished_at bigint NOT NULL,
    attempt bigint NOT NULL,
    schedule uuid,
    status text COLLATE "C" NOT NULL,
    worker text COLLATE "C",
    failure text COLLATE "C",
    output text COLLATE "C",
    note text COLLATE "C",
    decision text COLLATE "C",
    PRIMARY KEY (job, fence)
);

-- The order in which a schedule's attempts are listed; only its runs pay for it.
CREATE INDEX attempt_of_schedule ON steadfast.attempt (schedule, finished_at, job, fence)
    WHERE schedule IS NOT NULL;

-- The results of steps of handlers.
CREATE TABLE steadfast.once (
    job uuid NOT NULL,
    step text COLLATE "C" NOT NULL,
    result text COLLATE "C" NOT NULL,
    PRIMARY KEY (job, step)
);

CREATE TABLE steadfast.schedule (
    id uuid PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    timetable text COLLATE "C" NOT NULL,
    template text COLLATE "C" NOT NULL,
    paused boolean NOT NULL,
    created_at bigint NOT NULL,
    revision bigint NOT NULL,
    next_tick bigint,
    last_tick bigint,
    runs bigint NOT NULL,
    queued_tick bigint,
    UNIQUE (tenant, name)
) WITH (fillfactor = 70);

CREATE INDEX schedule_next ON steadfast.schedule (next_tick) WHERE NOT paused;
CREATE INDEX schedule_queued ON steadfast.schedule (queued_tick)
    WHERE NOT paused AND queued_tick IS NOT NULL;

-- The records of ticks: the job that was made, or a range that was skipped, and why.
CREATE TABLE steadfast.tick (
    schedule uuid NOT NULL,
    tick bigint NOT NULL,
    job uuid,
    skip text COLLATE "C",
    PRIMARY KEY (schedule, tick)
);

CREATE INDEX tick_age ON steadfast.tick (tick);

-- Endpoints, keys, states of alerts, nodes: few, small, and changed only by a caller
-- that saw the last change.
CREATE TABLE steadfast.document (
    space text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    body text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    PRIMARY KEY (space, id)
) WITH (fillfactor = 70);

-- What batches are sent as: one array of rows, which costs the server far less than one array
-- for each column. Nodes that run at the same time rely on them, so none is ever changed; a
-- later schema that needs another adds it under another name.
CREATE TYPE steadfast.new_job AS (
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
    webhook text
);

CREATE TYPE steadfast.transition AS (
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

CREATE TYPE steadfast.commanded AS (
    id uuid,
    priority smallint,
    policy integer,
    payload text,
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
    note text
);
