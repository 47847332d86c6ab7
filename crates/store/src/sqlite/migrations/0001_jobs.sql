-- Schema 1: jobs, their attempts, schedules, and what is counted.
--
-- Times are microseconds since 1970, durations nanoseconds, public ids 16 bytes that sort.
-- States: 0 waiting, 1 running, 2 succeeded, 3 failed, 4 cancelled.
-- Locks: the whole file for writing, for the time of this script.

-- One tenant's jobs of one kind in one queue: what claims choose between, and what is counted.
CREATE TABLE steadfast_lane (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    queue TEXT NOT NULL,
    kind TEXT NOT NULL,
    waiting INTEGER NOT NULL DEFAULT 0,
    running INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    dead_letters INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    successes INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    retries INTEGER NOT NULL DEFAULT 0,
    successful_retries INTEGER NOT NULL DEFAULT 0,
    exhausted INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tenant, queue, kind)
) STRICT;

-- The same counts of attempts, by the minute in which they ended.
CREATE TABLE steadfast_minute (
    minute INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    successes INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    successful_retries INTEGER NOT NULL,
    exhausted INTEGER NOT NULL,
    PRIMARY KEY (minute, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE steadfast_paused (
    tenant TEXT NOT NULL,
    queue TEXT NOT NULL,
    PRIMARY KEY (tenant, queue)
) STRICT, WITHOUT ROWID;

-- Many jobs share few retry policies.
CREATE TABLE steadfast_policy (
    id INTEGER PRIMARY KEY,
    body TEXT NOT NULL UNIQUE
) STRICT;

-- Claims and commits rewrite this row, so it is kept narrow: names and policies are numbers,
-- and a large payload lives in a table of its own.
CREATE TABLE steadfast_job (
    seq INTEGER PRIMARY KEY,
    lane INTEGER NOT NULL,
    state INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    run_at INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    attempts_before INTEGER NOT NULL,
    cancel_requested INTEGER NOT NULL,
    lease_until INTEGER,
    started_at INTEGER,
    first_started_at INTEGER,
    finished_at INTEGER,
    resolved_at INTEGER,
    worker TEXT,
    snoozes INTEGER NOT NULL,
    last_delay INTEGER,
    reason TEXT,
    failure TEXT,
    note TEXT,
    id BLOB NOT NULL UNIQUE,
    policy INTEGER NOT NULL,
    at_most_once INTEGER NOT NULL,
    timeout INTEGER,
    lease INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    idempotency_key TEXT,
    schedule BLOB,
    tick INTEGER,
    tags TEXT,
    payload TEXT
) STRICT;

-- What claims search: one due range for each lane and priority.
CREATE INDEX steadfast_job_waiting ON steadfast_job (lane, priority, run_at) WHERE state = 0;
-- Which part of the waiting jobs is being retried, for statistics.
CREATE INDEX steadfast_job_retrying ON steadfast_job (lane, run_at) WHERE state = 0 AND attempt > attempts_before;
-- What the sweeper searches.
CREATE INDEX steadfast_job_running ON steadfast_job (lease_until) WHERE state = 1;
-- Dead letters, and those that were discarded.
CREATE INDEX steadfast_job_failed ON steadfast_job (id) WHERE state = 3;
-- What retention may delete: dead letters count from when they were discarded.
CREATE INDEX steadfast_job_ended ON steadfast_job (finished_at) WHERE state IN (2, 4);
CREATE INDEX steadfast_job_discarded ON steadfast_job (resolved_at) WHERE resolved_at IS NOT NULL;
-- The runs of schedules.
CREATE INDEX steadfast_job_run ON steadfast_job (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX steadfast_job_run_unfinished ON steadfast_job (schedule, tick, id)
    WHERE schedule IS NOT NULL AND state IN (0, 1);

-- Payloads too large for the hot row.
CREATE TABLE steadfast_payload (
    job INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

CREATE VIEW steadfast_job_row AS
SELECT
    seq, lane, state, priority, run_at, fence, attempt, attempts_before, cancel_requested,
    lease_until, started_at, first_started_at, finished_at, resolved_at, worker, snoozes,
    last_delay, reason, failure, note, id, policy, at_most_once, timeout, lease, created_at,
    idempotency_key, schedule, tick, tags,
    coalesce(payload, (SELECT body FROM steadfast_payload WHERE steadfast_payload.job = steadfast_job.seq)) AS payload
FROM steadfast_job;

CREATE TABLE steadfast_idempotency (
    tenant TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    job BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    PRIMARY KEY (tenant, idempotency_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE steadfast_attempt (
    job INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    worker TEXT,
    failure TEXT,
    output TEXT,
    note TEXT,
    decision TEXT,
    PRIMARY KEY (job, fence)
) STRICT, WITHOUT ROWID;

-- The order in which a schedule's attempts are listed; only its runs pay for it.
CREATE TABLE steadfast_schedule_attempt (
    schedule BLOB NOT NULL,
    finished_at INTEGER NOT NULL,
    job BLOB NOT NULL,
    fence INTEGER NOT NULL,
    PRIMARY KEY (schedule, finished_at, job, fence)
) STRICT, WITHOUT ROWID;

-- The results of steps of handlers.
CREATE TABLE steadfast_once (
    job BLOB NOT NULL,
    step TEXT NOT NULL,
    result TEXT NOT NULL,
    PRIMARY KEY (job, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE steadfast_schedule (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    timetable TEXT NOT NULL,
    template TEXT NOT NULL,
    paused INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    next_tick INTEGER,
    last_tick INTEGER,
    runs INTEGER NOT NULL,
    queued_tick INTEGER,
    UNIQUE (tenant, name)
) STRICT;

CREATE INDEX steadfast_schedule_next ON steadfast_schedule (next_tick) WHERE paused = 0;
CREATE INDEX steadfast_schedule_queued ON steadfast_schedule (queued_tick) WHERE paused = 0 AND queued_tick IS NOT NULL;

-- The records of ticks: the job that was made, or a range that was skipped, and why.
CREATE TABLE steadfast_tick (
    schedule BLOB NOT NULL,
    tick INTEGER NOT NULL,
    job BLOB,
    skip TEXT,
    PRIMARY KEY (schedule, tick)
) STRICT, WITHOUT ROWID;

CREATE INDEX steadfast_tick_age ON steadfast_tick (tick);
