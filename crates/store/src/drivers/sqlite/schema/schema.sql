-- The schema: jobs, their attempts, schedules, records beside them, and counters.
--
-- Times are microseconds since 1970, durations nanoseconds, public ids 16 bytes that sort by time.
-- States: 0 waiting, 1 running, 2 succeeded, 3 failed, 4 cancelled.
-- Lanes, policies, gates and keys have numbers that are hashes of their names, so that every process
-- computes the same ones.
-- Locks: the whole file for writing, while this script runs.

-- Jobs ----------------------------------------------------------------------------------------------

-- A lane is one tenant's jobs of one kind in one queue. Its jobs are counted here.
CREATE TABLE steadfast_lane (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    queue TEXT NOT NULL,
    kind TEXT NOT NULL,
    waiting INTEGER NOT NULL DEFAULT 0,
    retrying INTEGER NOT NULL DEFAULT 0,
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
    -- Since when no job has it; null while jobs have it, or may.
    unused_since INTEGER,
    UNIQUE (tenant, queue, kind)
) STRICT;
CREATE INDEX steadfast_lane_queue ON steadfast_lane (queue);

-- Many jobs share few retry policies.
CREATE TABLE steadfast_policy (
    id INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    unused_since INTEGER
) STRICT;

-- Claims and commits rewrite this row, so it is narrow: names and policies are numbers, and a large
-- payload has a table of its own.
CREATE TABLE steadfast_job (
    seq INTEGER PRIMARY KEY,
    lane INTEGER NOT NULL,
    -- The lane's jobs of one destination and concurrency key; 0 without either.
    flow_key INTEGER NOT NULL DEFAULT 0,
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
    payload TEXT,
    webhook TEXT,
    destination TEXT,
    concurrency_key TEXT,
    -- The number of the concurrency key within its tenant.
    key_number INTEGER,
    traceparent TEXT,
    -- Rare options as JSON.
    extras TEXT,
    -- The number of the failure group of the newest failure.
    failure_group INTEGER,
    -- The number of the unique key within its tenant.
    unique_number INTEGER,
    -- The deadline of the first attempt.
    start_before INTEGER,
    -- Bits: 1 other jobs wait for this one, 2 this one waits for others, 4 it belongs to a batch.
    links INTEGER,
    -- Priority, retries above first attempts.
    level INTEGER NOT NULL GENERATED ALWAYS AS (priority * 2 + (attempt > attempts_before)) VIRTUAL
) STRICT;

-- Claims search one range for each flow key and level.
CREATE INDEX steadfast_job_waiting ON steadfast_job (lane, flow_key, level, run_at) WHERE state = 0;
-- Jobs that a claim could not read wait until the end of time.
CREATE INDEX steadfast_job_quarantine ON steadfast_job (id)
WHERE state = 0 AND run_at = 253402207200000000;
-- Running jobs by the end of their lease, and those with a request to cancel.
CREATE INDEX steadfast_job_running ON steadfast_job (lease_until) WHERE state = 1;
CREATE INDEX steadfast_job_cancel ON steadfast_job (worker, id) WHERE state = 1 AND cancel_requested = 1;
-- Unfinished jobs of a concurrency key in the order of creation, and of a unique key.
CREATE INDEX steadfast_job_key ON steadfast_job (key_number, created_at, id)
WHERE key_number IS NOT NULL AND state IN (0, 1);
CREATE INDEX steadfast_job_unique ON steadfast_job (unique_number)
WHERE unique_number IS NOT NULL AND state IN (0, 1);
-- Jobs that have not started, by their deadline.
CREATE INDEX steadfast_job_start_before ON steadfast_job (start_before)
WHERE start_before IS NOT NULL AND state = 0 AND attempt = 0 AND snoozes = 0;
-- Lists: one range for each lane. Ids ascend with time, so new entries go to the end of a range.
CREATE INDEX steadfast_job_lane ON steadfast_job (lane, id);
CREATE INDEX steadfast_job_lane_unsuccessful ON steadfast_job (lane, state, id) WHERE state IN (3, 4);
CREATE INDEX steadfast_job_failed ON steadfast_job (id) WHERE state = 3;
CREATE INDEX steadfast_job_failure_group ON steadfast_job (failure_group, id)
WHERE failure_group IS NOT NULL;
-- Retention: dead letters count from when they were discarded.
CREATE INDEX steadfast_job_ended ON steadfast_job (finished_at) WHERE state IN (2, 4);
CREATE INDEX steadfast_job_discarded ON steadfast_job (resolved_at) WHERE resolved_at IS NOT NULL;
-- The runs of schedules.
CREATE INDEX steadfast_job_run ON steadfast_job (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX steadfast_job_run_unfinished ON steadfast_job (schedule, tick, id)
WHERE schedule IS NOT NULL AND state IN (0, 1);

-- Payloads that are too large for the job's row.
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
    coalesce(payload, (
        SELECT body FROM steadfast_payload WHERE steadfast_payload.job = steadfast_job.seq
    )) AS payload,
    webhook, flow_key, destination, concurrency_key, key_number, traceparent, extras, unique_number,
    start_before, level
FROM steadfast_job;

-- Jobs by each of their tags, as `name:value`.
CREATE TABLE steadfast_tag (
    tag TEXT NOT NULL,
    job BLOB NOT NULL,
    tenant TEXT NOT NULL,
    PRIMARY KEY (tag, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_tag_tenant ON steadfast_tag (tenant, tag, job);

-- The job or schedule that a request with an idempotency key made.
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
    attempts_before INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    worker TEXT,
    failure TEXT,
    output TEXT,
    note TEXT,
    decision TEXT,
    usage TEXT,
    PRIMARY KEY (job, fence)
) STRICT, WITHOUT ROWID;

-- The order in which a schedule's attempts are listed.
CREATE TABLE steadfast_schedule_attempt (
    schedule BLOB NOT NULL,
    finished_at INTEGER NOT NULL,
    job BLOB NOT NULL,
    fence INTEGER NOT NULL,
    PRIMARY KEY (schedule, finished_at, job, fence)
) STRICT, WITHOUT ROWID;

-- The results of a handler's steps.
CREATE TABLE steadfast_once (
    job BLOB NOT NULL,
    step TEXT NOT NULL,
    result TEXT NOT NULL,
    PRIMARY KEY (job, step)
) STRICT, WITHOUT ROWID;

-- The logs of attempts, by claim.
CREATE TABLE steadfast_log (
    job BLOB NOT NULL,
    fence INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    -- Claims that were not counted share the number of the attempt, and the numbers of its lines go on.
    first_line INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (job, fence)
) STRICT, WITHOUT ROWID;

-- Counters ------------------------------------------------------------------------------------------

-- Attempts by the minute in which they ended.
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

-- Waiting jobs by the minute of `run_at`. Whether a job is due changes with the time, when no row is
-- written, so labels cannot be counted. Minutes long past are moved into minute 0. A single count may
-- be negative; only sums mean something.
CREATE TABLE steadfast_waiting (
    minute INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    retrying INTEGER NOT NULL,
    PRIMARY KEY (minute, lane)
) STRICT, WITHOUT ROWID;

-- How often the counters were repaired, so that no repair is made twice.
CREATE TABLE steadfast_recount (
    times INTEGER NOT NULL
) STRICT;
INSERT INTO steadfast_recount (times) VALUES (0);

-- When unused lanes and policies were last looked for.
CREATE TABLE steadfast_name_search (
    at INTEGER NOT NULL
) STRICT;
INSERT INTO steadfast_name_search (at) VALUES (0);

-- The starts at gates; running attempts are counted from the jobs.
CREATE TABLE steadfast_gate (
    number INTEGER PRIMARY KEY,
    next_start INTEGER NOT NULL,
    minute INTEGER NOT NULL,
    starts INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    usage TEXT
) STRICT;

-- Ticks ---------------------------------------------------------------------------------------------

-- A tick of a schedule made a job, or a range of ticks was skipped for a reason.
CREATE TABLE steadfast_tick (
    schedule BLOB NOT NULL,
    tick INTEGER NOT NULL,
    job BLOB,
    skip TEXT,
    PRIMARY KEY (schedule, tick)
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_tick_age ON steadfast_tick (tick);

-- Records -------------------------------------------------------------------------------------------

-- Documents, operations, schedules: things with a JSON body. The columns repeat what they are found by.
-- `name` is unique within the tenant. `at` is when one ended, or when something is to be done about it.
CREATE TABLE steadfast_record (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT,
    state TEXT NOT NULL,
    at INTEGER,
    revision INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT;
CREATE INDEX steadfast_record_tenant ON steadfast_record (kind, tenant, id);
CREATE INDEX steadfast_record_state ON steadfast_record (kind, state, id);
CREATE INDEX steadfast_record_tenant_state ON steadfast_record (kind, tenant, state, id);
CREATE INDEX steadfast_record_at ON steadfast_record (kind, state, at, id) WHERE at IS NOT NULL;
CREATE UNIQUE INDEX steadfast_record_name ON steadfast_record (kind, name, tenant)
WHERE name IS NOT NULL;

-- How often the records of a kind have changed. Nodes and workers write theirs often and nothing is
-- decided by them (heartbeats and events for other nodes), and the rest have a revision each, so they are not counted. Triggers,
-- so that no writer can forget it.
CREATE TABLE steadfast_record_version (
    kind TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER steadfast_record_created AFTER INSERT ON steadfast_record
WHEN NEW.kind NOT IN ('node', 'worker', 'watch', 'feed', 'operation', 'schedule', 'batch', 'callback', 'encryption_key') BEGIN
    INSERT INTO steadfast_record_version (kind, version) VALUES (NEW.kind, 1)
    ON CONFLICT (kind) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER steadfast_record_changed AFTER UPDATE ON steadfast_record
WHEN NEW.kind NOT IN ('node', 'worker', 'watch', 'feed', 'operation', 'schedule', 'batch', 'callback', 'encryption_key') BEGIN
    INSERT INTO steadfast_record_version (kind, version) VALUES (NEW.kind, 1)
    ON CONFLICT (kind) DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER steadfast_record_deleted AFTER DELETE ON steadfast_record
WHEN OLD.kind NOT IN ('node', 'worker', 'watch', 'feed', 'operation', 'schedule', 'batch', 'callback', 'encryption_key') BEGIN
    INSERT INTO steadfast_record_version (kind, version) VALUES (OLD.kind, 1)
    ON CONFLICT (kind) DO UPDATE SET version = version + 1;
END;

-- Failure groups ------------------------------------------------------------------------------------

-- The columns repeat what groups are found by; the body has everything.
CREATE TABLE steadfast_failure (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    count INTEGER NOT NULL,
    state TEXT NOT NULL,
    state_since INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    dead_letters INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (tenant, fingerprint)
) STRICT;
-- Lists are ordered by count, of a tenant and of all.
CREATE INDEX steadfast_failure_of_tenant ON steadfast_failure (tenant, count, fingerprint);
CREATE INDEX steadfast_failure_by_count ON steadfast_failure (count, tenant, fingerprint);
-- Alerts.
CREATE INDEX steadfast_failure_new ON steadfast_failure (state, state_since)
WHERE state IN ('new', 'regressed');
-- Retention.
CREATE INDEX steadfast_failure_old ON steadfast_failure (last_seen) WHERE dead_letters = 0;

-- Operations and the audit --------------------------------------------------------------------------

-- `pending`: 0 nothing, 1 the command, 2 the outcome of the next attempt. Large operations have many
-- rows, so the indexes beside the key hold few of them.
CREATE TABLE steadfast_operation_job (
    operation BLOB NOT NULL,
    job BLOB NOT NULL,
    result TEXT,
    attempts INTEGER NOT NULL,
    fingerprint TEXT,
    outcome TEXT,
    pending INTEGER NOT NULL,
    PRIMARY KEY (operation, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_operation_job_pending ON steadfast_operation_job (operation, pending, job)
WHERE pending > 0;
CREATE INDEX steadfast_operation_job_left ON steadfast_operation_job (operation, job)
WHERE result <> 'changed';
CREATE INDEX steadfast_operation_job_job ON steadfast_operation_job (job, operation);

CREATE TABLE steadfast_audit (
    id BLOB NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_audit_subject ON steadfast_audit (subject, id);
CREATE INDEX steadfast_audit_tenant ON steadfast_audit (tenant, id);
CREATE INDEX steadfast_audit_age ON steadfast_audit (at);

-- Dependencies and batches --------------------------------------------------------------------------

-- `result`: 0 the row of the prerequisite tells its state, 1 it has succeeded.
CREATE TABLE steadfast_dependency (
    job BLOB NOT NULL,
    prerequisite BLOB NOT NULL,
    result INTEGER NOT NULL,
    PRIMARY KEY (job, prerequisite)
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_dependency_prerequisite ON steadfast_dependency (prerequisite, job);
CREATE INDEX steadfast_dependency_open ON steadfast_dependency (job, prerequisite) WHERE result = 0;

-- The jobs of a batch, with the state in which each last ended or was taken up again.
CREATE TABLE steadfast_batch_job (
    job BLOB NOT NULL PRIMARY KEY,
    batch TEXT NOT NULL,
    state INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_batch_job_batch ON steadfast_batch_job (batch, job);
CREATE INDEX steadfast_batch_job_state ON steadfast_batch_job (batch, state, job);

-- What has happened to jobs, until it is worked on. Numbers are never used again.
-- `kind` 0: a job has ended that others wait for. With a dependant, only that one is concerned; dependants
-- up to `worked_to` are done. `kind` 1: a job of a batch has gone from one state to another.
CREATE TABLE steadfast_event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind INTEGER NOT NULL,
    job BLOB,
    dependant BLOB,
    worked_to BLOB,
    batch TEXT,
    from_state INTEGER,
    to_state INTEGER
) STRICT;
CREATE INDEX steadfast_event_kind ON steadfast_event (kind, seq);
CREATE INDEX steadfast_event_batch ON steadfast_event (batch, seq) WHERE batch IS NOT NULL;

-- Triggers, so that no writer can forget it; jobs without links pay one comparison.
CREATE TRIGGER steadfast_job_links_changed AFTER UPDATE OF state, resolved_at ON steadfast_job
WHEN
    new.links & 5 <> 0 AND (new.state >= 2 OR old.state >= 2)
    AND (new.state <> old.state OR new.resolved_at IS NOT old.resolved_at)
BEGIN
    INSERT INTO steadfast_event (kind, job)
    SELECT 0, new.id WHERE new.links & 1 <> 0 AND new.state >= 2;
    INSERT INTO steadfast_event (kind, batch, from_state, to_state)
    SELECT 1, batch, old.state, new.state FROM steadfast_batch_job
    WHERE job = new.id AND new.links & 4 <> 0 AND new.state <> old.state;
    UPDATE steadfast_batch_job SET state = new.state
    WHERE job = new.id AND new.links & 4 <> 0 AND state <> new.state;
END;

-- The result of a deleted job is kept with the jobs that wait for it.
CREATE TRIGGER steadfast_job_links_deleted AFTER DELETE ON steadfast_job
WHEN old.links IS NOT NULL
BEGIN
    UPDATE steadfast_dependency SET result = 1
    WHERE prerequisite = old.id AND result = 0 AND old.state = 2;
    INSERT INTO steadfast_event (kind, job)
    SELECT 0, old.id WHERE old.links & 1 <> 0;
    DELETE FROM steadfast_dependency WHERE job = old.id;
    DELETE FROM steadfast_batch_job WHERE job = old.id;
END;

-- The file ------------------------------------------------------------------------------------------

-- Tells a file that lost its log from one that was closed. `folded` is written into the file itself
-- and `logged` then into the log beside it, where both are equal. A copy that SQLite makes between
-- the two has another schema version than `schema`, the version of the file that was marked.
CREATE TABLE steadfast_log_mark (
    folded INTEGER NOT NULL,
    logged INTEGER NOT NULL,
    schema INTEGER NOT NULL
) STRICT;
INSERT INTO steadfast_log_mark (folded, logged, schema) VALUES (0, 0, 0);
