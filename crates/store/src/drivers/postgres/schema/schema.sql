-- The schema: jobs, their attempts, schedules, records beside them, and counters.
--
-- Times are microseconds since 1970 and not timestamps, so that every driver compares the same
-- numbers; durations are nanoseconds; public ids are UUIDs that sort by time. States: 0 waiting,
-- 1 running, 2 succeeded, 3 failed, 4 cancelled. `steadfast.` stands for the schema's name.
-- Lanes, policies, gates and keys have numbers that are hashes of their names, so that every node
-- computes the same ones.
-- Locks: an advisory lock, which the runner holds.

-- The time that decides: the database's, unless a test brings its own.
-- Parameters: a time in the place of the database's, or null.
CREATE FUNCTION steadfast.time(given bigint) RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(given, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
$$;

-- Jobs ----------------------------------------------------------------------------------------------

-- A lane is one tenant's jobs of one kind in one queue. The checks are those of core: a name that core
-- cannot read must not get in from SQL.
CREATE TABLE steadfast.lane (
    id bigint PRIMARY KEY CHECK (id > 0),
    tenant text COLLATE "C" NOT NULL CHECK (tenant ~ '^[A-Za-z0-9_.:/@-]{1,128}$'),
    queue text COLLATE "C" NOT NULL CHECK (queue ~ '^[A-Za-z0-9_.:/@-]{1,128}$'),
    kind text COLLATE "C" NOT NULL CHECK (kind ~ '^[A-Za-z0-9_.:/\\@#-]{1,255}$'),
    -- Since when no job has it; null while jobs have it, or may.
    unused_since bigint,
    UNIQUE (tenant, queue, kind)
);
CREATE INDEX lane_queue ON steadfast.lane (queue);

-- Many jobs share few retry policies.
CREATE TABLE steadfast.policy (
    id bigint PRIMARY KEY CHECK (id > 0),
    body text NOT NULL,
    unused_since bigint
);

-- A job is in one of these partitions. A row moves when its `day` is changed, so each id is there once.
--
-- `job_hot`: those that wait or run, dead letters, and those that have just ended. Statements about these
-- name it. Ended jobs are in the partition of the day on which their id was made, `job_day_` and its number
-- since 1970, which retention drops as a whole; in `job_rest` if there is none for it, or if they stay
-- longer. `job_other` catches what has neither for a moment, so that nothing fails for want of a partition.
CREATE TABLE steadfast.job (
    id uuid NOT NULL,
    lane bigint NOT NULL,
    -- The lane's jobs of one destination and concurrency key; 0 without either.
    flow_key bigint NOT NULL DEFAULT 0,
    policy bigint NOT NULL,
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
    -- The number of the concurrency key within its tenant.
    key_number bigint,
    -- The number of the failure group of the newest failure.
    failure_group bigint,
    -- The number of the unique key within its tenant.
    unique_number bigint,
    -- The deadline of the first attempt.
    start_before bigint,
    -- The gates at which the running attempt is counted, and in which turn.
    gate_turn bigint,
    gates bigint[],
    snoozes integer NOT NULL DEFAULT 0,
    state smallint NOT NULL DEFAULT 0,
    priority smallint NOT NULL,
    -- Priority, retries above first attempts.
    level integer NOT NULL GENERATED ALWAYS AS (priority * 2 + (attempt > attempts_before)::integer) STORED,
    -- Bits: 1 other jobs wait for this one, 2 this one waits for others, 4 it belongs to a batch.
    links smallint,
    cancel_requested boolean NOT NULL DEFAULT false,
    at_most_once boolean NOT NULL,
    schedule uuid,
    worker text COLLATE "C",
    reason text COLLATE "C",
    failure text COLLATE "C",
    note text COLLATE "C",
    idempotency_key text COLLATE "C",
    tags text COLLATE "C",
    -- JSON; of a delivery, its address. Holds secrets.
    webhook text COLLATE "C",
    destination text COLLATE "C",
    concurrency_key text COLLATE "C",
    traceparent text COLLATE "C",
    -- Rare options as JSON.
    extras text COLLATE "C",
    payload text COLLATE "C" NOT NULL,
    -- The partition: -1 hot, 0 ended, above 0 ended and of this day.
    day integer NOT NULL DEFAULT -1
) PARTITION BY LIST (day);

-- Claims and commits write new versions of this row, so it is narrow: names and policies are numbers,
-- and a payload of more than about a kilobyte is moved out of the row, where new versions share it
-- (toast_tuple_target).
--
-- A claim changes which partial indexes a row is in, so it can never be a heap-only update; what room
-- in the page buys (fillfactor) is that the new version lies beside the old one and the page is written
-- once for both. Each job leaves two dead versions, and a claim must walk over those that lie in front
-- of its range: vacuum comes after a fixed small share and does not pause, and statistics are taken as
-- often, because a plan made for an empty table is slow on a full one.
CREATE TABLE steadfast.job_hot PARTITION OF steadfast.job (PRIMARY KEY (id)) FOR VALUES IN (-1) WITH (
    fillfactor = 70,
    toast_tuple_target = 1200,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_analyze_threshold = 5000
);
CREATE TABLE steadfast.job_rest PARTITION OF steadfast.job (PRIMARY KEY (id)) FOR VALUES IN (0)
WITH (toast_tuple_target = 1200);
CREATE TABLE steadfast.job_other PARTITION OF steadfast.job (PRIMARY KEY (id)) DEFAULT
WITH (toast_tuple_target = 1200);

-- The days that have a partition for jobs and one for attempts. One that is not open takes no more rows:
-- it is being emptied of what stays, or was dropped, and what belonged to its jobs is being deleted.
CREATE TABLE steadfast.job_day (
    day integer PRIMARY KEY,
    is_open boolean NOT NULL DEFAULT true,
    is_dropped boolean NOT NULL DEFAULT false
);

-- The day on which an id was made.
CREATE FUNCTION steadfast.day_of(id uuid) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT (('x' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(48)::bigint / 86400000)::integer
$$;

-- Claims search one range for each flow key and level: a search passes over no running, ended or future job.
CREATE INDEX job_due ON steadfast.job_hot (lane, flow_key, level, run_at) WHERE state = 0;
-- Jobs that a claim could not read wait until the end of time.
CREATE INDEX job_quarantine ON steadfast.job_hot (id) WHERE state = 0 AND run_at = 253402207200000000;
-- Running jobs by the end of their lease, and those with a request to cancel.
CREATE INDEX job_running ON steadfast.job_hot (lease_until) WHERE state = 1;
CREATE INDEX job_cancel ON steadfast.job_hot (worker, id) WHERE state = 1 AND cancel_requested;
-- Unfinished jobs of a concurrency key in the order of creation, and of a unique key.
CREATE INDEX job_key ON steadfast.job_hot (key_number, created_at, id)
WHERE key_number IS NOT NULL AND state IN (0, 1);
CREATE INDEX job_unique ON steadfast.job_hot (unique_number)
WHERE unique_number IS NOT NULL AND state IN (0, 1);
-- Jobs that have not started, by their deadline.
CREATE INDEX job_start_before ON steadfast.job_hot (start_before)
WHERE start_before IS NOT NULL AND state = 0 AND attempt = 0 AND snoozes = 0;
-- Lists of failed jobs. Of indexes with the same cost PostgreSQL takes the one created last, so this one
-- comes before those of lanes.
CREATE INDEX job_failed ON steadfast.job (id) WHERE state = 3;
-- Lists: one range for each lane. Ids ascend with time, so new entries go to the end of a range. Every
-- lane is above 0; the condition keeps statements that know only an id from walking over this index
-- instead of the primary key.
CREATE INDEX job_lane ON steadfast.job (lane, id) WHERE lane > 0;
CREATE INDEX job_lane_failed ON steadfast.job (lane, id) WHERE state = 3;
CREATE INDEX job_lane_cancelled ON steadfast.job (lane, id) WHERE state = 4;
CREATE INDEX job_failure_group ON steadfast.job (failure_group, id) WHERE failure_group IS NOT NULL;
-- Retention: dead letters count from when they were discarded.
CREATE INDEX job_ended ON steadfast.job (finished_at) WHERE state IN (2, 4);
CREATE INDEX job_discarded ON steadfast.job (resolved_at) WHERE resolved_at IS NOT NULL;
-- The runs of schedules.
CREATE INDEX job_run ON steadfast.job (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX job_run_unfinished ON steadfast.job_hot (schedule, tick, id)
WHERE schedule IS NOT NULL AND state IN (0, 1);

-- Jobs by each of their tags, as `name:value`. A trigger, so that no writer can forget it. A job that comes
-- back to the hot ones has them already.
CREATE TABLE steadfast.tag (
    tag text COLLATE "C" NOT NULL,
    job uuid NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    PRIMARY KEY (tag, job)
);
CREATE INDEX tag_tenant ON steadfast.tag (tenant, tag, job);

CREATE FUNCTION steadfast.save_tags() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    INSERT INTO steadfast.tag (tag, job, tenant)
    SELECT each.key || ':' || each.value, NEW.id, lane.tenant
    FROM steadfast.lane, json_each_text(NEW.tags::json) AS each
    WHERE lane.id = NEW.lane AND each.key <> ''
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER tags_created AFTER INSERT ON steadfast.job_hot
FOR EACH ROW WHEN (NEW.tags IS NOT NULL) EXECUTE FUNCTION steadfast.save_tags();

-- The job or schedule that a request with an idempotency key made.
CREATE TABLE steadfast.idempotency (
    tenant text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    job uuid NOT NULL,
    fingerprint bytea NOT NULL,
    PRIMARY KEY (tenant, idempotency_key)
);

-- Written once and never changed; only retention deletes. The day is that of the id of the job, as above, or
-- 0 if it has no partition or the job outlives it.
CREATE TABLE steadfast.attempt (
    job uuid NOT NULL,
    fence bigint NOT NULL,
    started_at bigint NOT NULL,
    finished_at bigint NOT NULL,
    attempt bigint NOT NULL,
    attempts_before bigint NOT NULL DEFAULT 0,
    schedule uuid,
    status text COLLATE "C" NOT NULL,
    worker text COLLATE "C",
    failure text COLLATE "C",
    output text COLLATE "C",
    note text COLLATE "C",
    decision text COLLATE "C",
    day integer NOT NULL DEFAULT 0
) PARTITION BY LIST (day);
CREATE TABLE steadfast.attempt_rest PARTITION OF steadfast.attempt (PRIMARY KEY (job, fence)) FOR VALUES IN (0);
CREATE TABLE steadfast.attempt_other PARTITION OF steadfast.attempt (PRIMARY KEY (job, fence)) DEFAULT;
-- The order in which a schedule's attempts are listed.
CREATE INDEX attempt_of_schedule ON steadfast.attempt (schedule, finished_at, job, fence)
WHERE schedule IS NOT NULL;

-- Makes the partitions of a day, unless they are there. The last index finds jobs to which other tables refer
-- by more than their id: these are deleted one by one before the rest is dropped.
-- Only the owner may create and drop tables, so these three have the rights of the owner.
-- Parameters: the day. Locks: the parents, against other changes of their partitions, and what has no
-- partition of its own, which is nothing, until the transaction ends.
CREATE FUNCTION steadfast.make_day(number integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO steadfast.job_day (day) VALUES (number) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    EXECUTE replace('
        CREATE TABLE steadfast.job_day_NUMBER (
            LIKE steadfast.job INCLUDING DEFAULTS INCLUDING GENERATED, PRIMARY KEY (id)
        ) WITH (toast_tuple_target = 1200);
        CREATE INDEX job_day_NUMBER_referred ON steadfast.job_day_NUMBER (id)
        WHERE tags IS NOT NULL OR links IS NOT NULL OR idempotency_key IS NOT NULL;
        CREATE TABLE steadfast.attempt_day_NUMBER (
            LIKE steadfast.attempt INCLUDING DEFAULTS, PRIMARY KEY (job, fence)
        );
        ALTER TABLE steadfast.job ATTACH PARTITION steadfast.job_day_NUMBER FOR VALUES IN (NUMBER);
        ALTER TABLE steadfast.attempt ATTACH PARTITION steadfast.attempt_day_NUMBER FOR VALUES IN (NUMBER);
    ', 'NUMBER', number::text);
END
$$;

-- Lets nobody write to the partitions of a day that is about to be dropped. Reads go on.
-- Parameters: the day. Answers whether it is there and closed. Locks: its row and its two tables.
CREATE FUNCTION steadfast.lock_day(number integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM steadfast.job_day WHERE day = number AND NOT is_open AND NOT is_dropped FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    EXECUTE replace('
        LOCK TABLE ONLY steadfast.job_day_NUMBER, ONLY steadfast.attempt_day_NUMBER IN SHARE ROW EXCLUSIVE MODE
    ', 'NUMBER', number::text);
    RETURN true;
END
$$;

-- Drops the partitions of a day that is locked, and takes its jobs out of the counts, for which all are read.
-- Parameters: the day. Answers how many jobs there were. Locks: jobs and attempts, for as long as it takes to
-- commit.
CREATE FUNCTION steadfast.drop_day(number integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = on AS $$
DECLARE
    jobs bigint;
BEGIN
    UPDATE steadfast.job_day SET is_dropped = true WHERE day = number AND NOT is_open AND NOT is_dropped;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    EXECUTE replace('
        WITH gone AS MATERIALIZED (
            SELECT
                lane, count(*) AS jobs, count(*) FILTER (WHERE state = 2) AS succeeded,
                count(*) FILTER (WHERE state = 3) AS failed, count(*) FILTER (WHERE state = 4) AS cancelled
            FROM steadfast.job_day_NUMBER
            GROUP BY lane
        ),
        counted AS (
            INSERT INTO steadfast.count_change (lane, succeeded, failed, cancelled)
            SELECT lane, - succeeded, - failed, - cancelled FROM gone
        )
        SELECT coalesce(sum(jobs), 0)::bigint FROM gone
    ', 'NUMBER', number::text) INTO jobs;
    EXECUTE replace('DROP TABLE steadfast.job_day_NUMBER, steadfast.attempt_day_NUMBER', 'NUMBER', number::text);
    RETURN jobs;
END
$$;

-- Only roles of nodes, which are granted them.
REVOKE ALL ON FUNCTION steadfast.make_day, steadfast.lock_day, steadfast.drop_day FROM PUBLIC;

-- The results of a handler's steps.
CREATE TABLE steadfast.once (
    job uuid NOT NULL,
    step text COLLATE "C" NOT NULL,
    result text COLLATE "C" NOT NULL,
    PRIMARY KEY (job, step)
);

-- The logs of attempts, by claim.
CREATE TABLE steadfast.log (
    job uuid NOT NULL,
    fence bigint NOT NULL,
    attempt bigint NOT NULL,
    -- Claims that were not counted share the number of the attempt, and the numbers of its lines go on.
    first_line bigint NOT NULL,
    body text COLLATE "C" NOT NULL,
    PRIMARY KEY (job, fence)
);

-- Counters ------------------------------------------------------------------------------------------

-- Nodes that commit at the same time must not queue for one row of totals, so each transaction appends
-- its changes here; readers add both up, and a background step moves the one into the other. Rows live
-- for seconds: it is vacuumed often, so that readers do not walk over the dead.
CREATE TABLE steadfast.count_change (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- In which the attempts ended, and for which the jobs wait.
    minute bigint,
    due_minute bigint,
    lane bigint NOT NULL,
    waiting integer NOT NULL DEFAULT 0,
    retrying integer NOT NULL DEFAULT 0,
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

CREATE TABLE steadfast.lane_count (
    lane bigint PRIMARY KEY,
    waiting bigint NOT NULL,
    retrying bigint NOT NULL,
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

-- Attempts by the minute in which they ended.
CREATE TABLE steadfast.minute (
    minute bigint NOT NULL,
    lane bigint NOT NULL,
    attempts bigint NOT NULL,
    successes bigint NOT NULL,
    failures bigint NOT NULL,
    retries bigint NOT NULL,
    successful_retries bigint NOT NULL,
    exhausted bigint NOT NULL,
    PRIMARY KEY (minute, lane)
) WITH (fillfactor = 50);

-- Waiting jobs by the minute of `run_at`. Whether a job is due changes with the time, when no row is
-- written, so labels cannot be counted. Minutes long past are moved into minute 0. A single count may
-- be negative; only sums mean something.
CREATE TABLE steadfast.waiting_count (
    minute bigint NOT NULL,
    lane bigint NOT NULL,
    waiting bigint NOT NULL,
    retrying bigint NOT NULL,
    PRIMARY KEY (minute, lane)
) WITH (fillfactor = 50);

-- When unused lanes and policies were last looked for.
CREATE TABLE steadfast.name_search (
    at bigint NOT NULL
);
INSERT INTO steadfast.name_search (at) VALUES (0);

-- Gates ---------------------------------------------------------------------------------------------

-- A claim that passes gates holds their rows while it counts the running attempts, so that two cannot
-- take the same room; the end of an attempt never waits for them.
CREATE TABLE steadfast.gate (
    number bigint PRIMARY KEY,
    -- About when it was last used.
    used_at bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- While an old snapshot is held, no dead row can be removed. So nothing that a claim reads again and
-- again is changed in place or lies behind ended attempts: starts at a gate are numbered while the gate
-- is held, a node remembers the number below which nothing runs, and the state of a gate is a new row
-- each time, the newest first.
CREATE SEQUENCE steadfast.gate_turn;

CREATE TABLE steadfast.gate_state (
    gate bigint NOT NULL,
    turn bigint NOT NULL,
    next_start bigint NOT NULL,
    minute bigint NOT NULL,
    starts bigint NOT NULL,
    retries bigint NOT NULL,
    PRIMARY KEY (gate, turn)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

-- The running attempts of a gate.
CREATE TABLE steadfast.gate_running (
    gate bigint NOT NULL,
    -- 0 if the attempt ran before the gate was set.
    turn bigint NOT NULL DEFAULT 0,
    job uuid NOT NULL,
    PRIMARY KEY (gate, turn, job)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX gate_running_late ON steadfast.gate_running (job) WHERE turn = 0;

-- How many jobs a tenant, a queue, or a tenant in a queue may wait with, for `steadfast.enqueue`: bodies
-- of gates may be encrypted. Nodes write it whenever they read other gates. An empty tenant is every one.
CREATE TABLE steadfast.waiting_limit (
    scope text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    most bigint NOT NULL,
    PRIMARY KEY (scope, tenant, key)
);

-- How many jobs of a tenant and of a queue wait.
-- Parameters: as named, null for all. Locks: none.
CREATE FUNCTION steadfast.count_waiting(of_tenant text, of_queue text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT coalesce(sum(part.waiting), 0) FROM (
            SELECT total.waiting
            FROM steadfast.lane JOIN steadfast.lane_count AS total ON total.lane = lane.id
            WHERE lane.tenant = of_tenant AND (of_queue IS NULL OR lane.queue = of_queue)
            UNION ALL
            SELECT total.waiting
            FROM steadfast.lane JOIN steadfast.lane_count AS total ON total.lane = lane.id
            WHERE of_tenant IS NULL AND lane.queue = of_queue
            UNION ALL
            SELECT change.waiting
            FROM steadfast.count_change AS change JOIN steadfast.lane ON lane.id = change.lane
            WHERE
                (of_tenant IS NULL OR lane.tenant = of_tenant)
                AND (of_queue IS NULL OR lane.queue = of_queue)
        ) AS part
    );
END
$$;

-- How many jobs wait at a gate, for a transaction that is about to add some. Far below the limit any
-- number of transactions may add a small share each: all that can be open together fit in what is left.
-- Near the limit, or with more, a transaction is the only one until it ends.
-- Parameters: the number of the gate, its tenant and queue, null for all, its limit, and how many are new.
-- Locks: an advisory lock for the number, shared or alone, until the transaction ends.
CREATE FUNCTION steadfast.hold_waiting(
    number bigint, of_tenant text, of_queue text, most bigint, new bigint
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    -- Stores in other schemas of the same database have locks of their own.
    lock bigint := hashtextextended('steadfast.waiting', number);
    transactions bigint := current_setting('max_connections')::bigint
        + current_setting('max_prepared_transactions')::bigint;
    share bigint := most / (8 * transactions);
    -- By this transaction so far.
    added bigint := coalesce(nullif(current_setting('steadfast_waiting.added', true), ''), '0')::bigint + new;
    waiting bigint;
BEGIN
    PERFORM set_config('steadfast_waiting.added', added::text, true);
    IF added <= share
        AND steadfast.count_waiting(of_tenant, of_queue) + 2 * share * transactions <= most
    THEN
        PERFORM pg_advisory_xact_lock_shared(lock);
        waiting := steadfast.count_waiting(of_tenant, of_queue);
        IF waiting + share * transactions <= most THEN
            RETURN waiting;
        END IF;
    END IF;
    PERFORM pg_advisory_xact_lock(lock);
    RETURN steadfast.count_waiting(of_tenant, of_queue);
END
$$;
REVOKE ALL ON FUNCTION steadfast.hold_waiting FROM PUBLIC;

-- Ticks ---------------------------------------------------------------------------------------------

-- A tick of a schedule made a job, or a range of ticks was skipped for a reason.
CREATE TABLE steadfast.tick (
    schedule uuid NOT NULL,
    tick bigint NOT NULL,
    job uuid,
    skip text COLLATE "C",
    PRIMARY KEY (schedule, tick)
);
CREATE INDEX tick_age ON steadfast.tick (tick);

-- Records -------------------------------------------------------------------------------------------

-- Documents, operations, schedules: things with a JSON body, changed only by a caller that saw the last
-- change. The columns repeat what they are found by. `name` is unique within the tenant. `at` is when one
-- ended, or when something is to be done about it.
CREATE TABLE steadfast.record (
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C",
    state text COLLATE "C" NOT NULL,
    at bigint,
    revision bigint NOT NULL,
    body text COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, id)
) WITH (fillfactor = 70);
CREATE INDEX record_tenant ON steadfast.record (kind, tenant, id);
CREATE INDEX record_state ON steadfast.record (kind, state, id);
CREATE INDEX record_tenant_state ON steadfast.record (kind, tenant, state, id);
CREATE INDEX record_at ON steadfast.record (kind, state, at, id) WHERE at IS NOT NULL;
CREATE UNIQUE INDEX record_name ON steadfast.record (kind, name, tenant) WHERE name IS NOT NULL;

-- How often the records of a kind have changed. Nodes and workers write theirs often and nothing is
-- decided by them (heartbeats and events for other nodes), and the rest have a revision each, so they are not counted. Triggers,
-- so that no writer can forget it.
CREATE TABLE steadfast.record_version (
    kind text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL
);

CREATE FUNCTION steadfast.record_changed() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO steadfast.record_version AS counted (kind, version)
    VALUES (coalesce(NEW.kind, OLD.kind), 1)
    ON CONFLICT (kind) DO UPDATE SET version = counted.version + 1;
    RETURN NULL;
END
$$;
CREATE TRIGGER record_saved AFTER INSERT OR UPDATE ON steadfast.record
FOR EACH ROW WHEN (NEW.kind NOT IN ('node', 'worker', 'watch', 'feed', 'operation', 'schedule', 'batch', 'callback', 'encryption_key'))
EXECUTE FUNCTION steadfast.record_changed();
CREATE TRIGGER record_deleted AFTER DELETE ON steadfast.record
FOR EACH ROW WHEN (OLD.kind NOT IN ('node', 'worker', 'watch', 'feed', 'operation', 'schedule', 'batch', 'callback', 'encryption_key'))
EXECUTE FUNCTION steadfast.record_changed();

-- Failure groups ------------------------------------------------------------------------------------

-- The columns repeat what groups are found by; the body has everything.
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
-- Lists are ordered by count, of a tenant and of all.
CREATE INDEX failure_of_tenant ON steadfast.failure (tenant, count, fingerprint);
CREATE INDEX failure_by_count ON steadfast.failure (count, tenant, fingerprint);
-- Alerts.
CREATE INDEX failure_new ON steadfast.failure (state, state_since) WHERE state IN ('new', 'regressed');
-- Retention.
CREATE INDEX failure_old ON steadfast.failure (last_seen) WHERE dead_letters = 0;

-- Failures that are not in their group yet: nodes must not queue for one row.
CREATE TABLE steadfast.failure_change (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    tally text COLLATE "C" NOT NULL
);

-- Operations and the audit --------------------------------------------------------------------------

-- `pending`: 0 nothing, 1 the command, 2 the outcome of the next attempt. Large operations have many
-- rows, so the indexes beside the key hold few of them.
CREATE TABLE steadfast.operation_job (
    operation uuid NOT NULL,
    job uuid NOT NULL,
    result text,
    attempts bigint NOT NULL,
    fingerprint text,
    outcome text,
    pending smallint NOT NULL,
    PRIMARY KEY (operation, job)
);
CREATE INDEX operation_job_pending ON steadfast.operation_job (operation, pending, job)
WHERE pending > 0;
CREATE INDEX operation_job_left ON steadfast.operation_job (operation, job) WHERE result <> 'changed';
CREATE INDEX operation_job_job ON steadfast.operation_job (job, operation);

CREATE TABLE steadfast.audit (
    id uuid PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    actor text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    body text NOT NULL
);
CREATE INDEX audit_subject ON steadfast.audit (subject, id);
CREATE INDEX audit_tenant ON steadfast.audit (tenant, id);
CREATE INDEX audit_age ON steadfast.audit (at);

-- Dependencies and batches --------------------------------------------------------------------------

-- `result`: 0 the row of the prerequisite tells its state, 1 it has succeeded.
CREATE TABLE steadfast.dependency (
    job uuid NOT NULL,
    prerequisite uuid NOT NULL,
    result smallint NOT NULL,
    PRIMARY KEY (job, prerequisite)
);
CREATE INDEX dependency_prerequisite ON steadfast.dependency (prerequisite, job);
CREATE INDEX dependency_open ON steadfast.dependency (job, prerequisite) WHERE result = 0;

-- The jobs of a batch, with the state in which each last ended or was taken up again.
CREATE TABLE steadfast.batch_job (
    job uuid PRIMARY KEY,
    batch text COLLATE "C" NOT NULL,
    state smallint NOT NULL
);
CREATE INDEX batch_job_batch ON steadfast.batch_job (batch, job);
CREATE INDEX batch_job_state ON steadfast.batch_job (batch, state, job);

-- What has happened to jobs, until it is worked on.
-- `kind` 0: a job has ended that others wait for. With a dependant, only that one is concerned; dependants
-- up to `worked_to` are done. `kind` 1: a job of a batch has gone from one state to another.
CREATE TABLE steadfast.event (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind smallint NOT NULL,
    job uuid,
    dependant uuid,
    worked_to uuid,
    batch text COLLATE "C",
    from_state smallint,
    to_state smallint
);
CREATE INDEX event_kind ON steadfast.event (kind, seq);
CREATE INDEX event_batch ON steadfast.event (batch, seq) WHERE batch IS NOT NULL;

-- A trigger, so that no writer can forget it; jobs without links pay one comparison. A job with links ends
-- where it is, among the hot ones, and is moved later.
CREATE FUNCTION steadfast.links_changed() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF NEW.links & 1 <> 0 AND NEW.state >= 2 THEN
        INSERT INTO steadfast.event (kind, job)
        VALUES (0, NEW.id);
    END IF;
    IF NEW.links & 4 <> 0 AND NEW.state <> OLD.state THEN
        INSERT INTO steadfast.event (kind, batch, from_state, to_state)
        SELECT 1, batch_job.batch, OLD.state, NEW.state FROM steadfast.batch_job
        WHERE batch_job.job = NEW.id;
        UPDATE steadfast.batch_job SET state = NEW.state WHERE batch_job.job = NEW.id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER links_changed AFTER UPDATE ON steadfast.job_hot
FOR EACH ROW WHEN (
    NEW.links & 5 <> 0 AND (NEW.state >= 2 OR OLD.state >= 2)
    AND (NEW.state <> OLD.state OR NEW.resolved_at IS DISTINCT FROM OLD.resolved_at)
) EXECUTE FUNCTION steadfast.links_changed();

-- What refers to a job that is deleted goes as well. The result is kept with the jobs that wait for it. No
-- trigger: PostgreSQL moves a row to another partition by deleting it.
-- Parameters: those of the job. Answers with 1. Locks: the rows.
CREATE FUNCTION steadfast.forget(gone uuid, gone_state smallint, gone_links smallint, gone_tags text) RETURNS integer
LANGUAGE plpgsql AS $$
BEGIN
    IF gone_tags IS NOT NULL THEN
        DELETE FROM steadfast.tag USING json_each_text(gone_tags::json) AS each
        WHERE tag.tag = each.key || ':' || each.value AND tag.job = gone;
    END IF;
    IF gone_links IS NULL THEN
        RETURN 1;
    END IF;
    IF gone_state = 2 THEN
        UPDATE steadfast.dependency SET result = 1
        WHERE dependency.prerequisite = gone AND dependency.result = 0;
    END IF;
    IF gone_links & 1 <> 0 THEN
        INSERT INTO steadfast.event (kind, job)
        VALUES (0, gone);
    END IF;
    DELETE FROM steadfast.dependency WHERE dependency.job = gone;
    DELETE FROM steadfast.batch_job WHERE batch_job.job = gone;
    RETURN 1;
END
$$;

-- Batches -------------------------------------------------------------------------------------------

-- Batches are sent as one array of rows, which costs the server far less than one array for each column.
CREATE TYPE steadfast.new_job AS (
    id uuid,
    lane bigint,
    policy bigint,
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
    flow_key bigint,
    destination text,
    concurrency_key text,
    key_number bigint,
    traceparent text,
    extras text,
    unique_number bigint,
    start_before bigint,
    start_within bigint
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
    failure_group bigint,
    day integer
);

CREATE TYPE steadfast.commanded AS (
    id uuid,
    priority smallint,
    policy bigint,
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

-- From SQL ------------------------------------------------------------------------------------------

-- `steadfast.enqueue` stores jobs for programs in any language, in their own transaction: a job exists
-- if and only if the caller commits. It runs with the rights of its owner and a search path of its own,
-- so callers need no rights on tables.

-- The tenants that a role may enqueue for. A role without rows may enqueue for every tenant. The role
-- is the one that logged in, whatever it has set since.
CREATE TABLE steadfast.enqueue_role (
    role_name name NOT NULL,
    tenant text COLLATE "C" NOT NULL CHECK (tenant ~ '^[A-Za-z0-9_.:/@-]{1,128}$'),
    PRIMARY KEY (role_name, tenant)
);

-- Messages of transactions that have stored jobs, to the nodes. A NOTIFY would take a lock over the whole
-- server until the transaction has ended.
CREATE TABLE steadfast.wake_request (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message text NOT NULL
);

-- A public id: the bits of a UUIDv7 of the time given.
CREATE FUNCTION steadfast.new_id(now bigint) RETURNS uuid
LANGUAGE sql VOLATILE AS $$
    SELECT (
        lpad(to_hex(now / 1000), 12, '0') || '7' || lpad(to_hex(now % 1000 * 4096 / 1000), 3, '0')
        || substr(replace(gen_random_uuid()::text, '-', ''), 17)
    )::uuid
$$;

-- A public id as people write it: Crockford's base 32, five bits at a time.
CREATE FUNCTION steadfast.id_text(id uuid) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT 'job_' || string_agg(
        substr(
            '0123456789abcdefghjkmnpqrstvwxyz',
            substring(B'00' || ('x' || replace(id::text, '-', ''))::bit(128) FROM place * 5 + 1 FOR 5)::int + 1,
            1
        ), '' ORDER BY place
    )
    FROM generate_series(0, 25) AS place
$$;

-- A number that every node computes by itself, as core does.
CREATE FUNCTION steadfast.hash_number(VARIADIC parts text[]) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT ('x' || encode(substring(sha256(
        string_agg(int8send(octet_length(part)) || convert_to(part, 'UTF8'), ''::bytea ORDER BY place)
    ) FROM 1 FOR 8), 'hex'))::bit(64)::bigint
    FROM unnest(parts) WITH ORDINALITY AS given (part, place)
$$;

-- The same for names that have rows: above 0.
CREATE FUNCTION steadfast.name_number(VARIADIC parts text[]) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT (steadfast.hash_number(VARIADIC parts) & 9223372036854775807) | 1
$$;

-- The number of a lane, whose row stays until the caller's transaction ends.
-- Parameters: as named. Locks: the row, against deletion.
CREATE FUNCTION steadfast.use_lane(tenant text, queue text, kind text) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    number bigint := steadfast.name_number(tenant, queue, kind);
BEGIN
    FOR tries IN 1..10 LOOP
        INSERT INTO steadfast.lane (id, tenant, queue, kind) VALUES (number, tenant, queue, kind)
        ON CONFLICT DO NOTHING;
        PERFORM FROM steadfast.lane WHERE lane.id = number FOR KEY SHARE;
        IF FOUND THEN
            UPDATE steadfast.lane SET unused_since = NULL
            WHERE lane.id = number AND lane.unused_since IS NOT NULL;
            RETURN number;
        END IF;
    END LOOP;
    RAISE 'the lane is being deleted' USING ERRCODE = 'serialization_failure';
END
$$;

-- The number of a retry policy, likewise.
-- Parameters: the policy as JSON. Locks: the row, against deletion.
CREATE FUNCTION steadfast.use_policy(body text) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    number bigint := steadfast.name_number(body);
BEGIN
    FOR tries IN 1..10 LOOP
        INSERT INTO steadfast.policy (id, body) VALUES (number, body) ON CONFLICT DO NOTHING;
        PERFORM FROM steadfast.policy WHERE policy.id = number FOR KEY SHARE;
        IF FOUND THEN
            UPDATE steadfast.policy SET unused_since = NULL
            WHERE policy.id = number AND policy.unused_since IS NOT NULL;
            RETURN number;
        END IF;
    END LOOP;
    RAISE 'the policy is being deleted' USING ERRCODE = 'serialization_failure';
END
$$;

-- An origin as core writes it. Raises check_violation if it is none.
CREATE FUNCTION steadfast.origin(given text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
DECLARE
    part text[] := regexp_match(
        lower(given), '^([a-z][a-z0-9+.-]*)://([a-z0-9._~%-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?/?$'
    );
    port integer := part[3];
BEGIN
    IF given IS NULL THEN
        RETURN NULL;
    END IF;
    IF part IS NULL OR octet_length(given) > 280 OR port > 65535 THEN
        RAISE 'destination is %: must be an origin of at most 280 bytes, such as https://api.example.com, without a path',
            quote_literal(given) USING ERRCODE = 'check_violation';
    END IF;
    IF starts_with(part[2], '[') THEN
        PERFORM trim(BOTH '[]' FROM part[2])::inet;
    END IF;
    IF port IS NULL OR (part[1] = 'http' AND port = 80) OR (part[1] = 'https' AND port = 443) THEN
        RETURN part[1] || '://' || part[2];
    END IF;
    RETURN part[1] || '://' || part[2] || ':' || port;
END
$$;

-- How many arrays and objects are inside each other. Texts are taken out first: they may hold brackets.
CREATE FUNCTION steadfast.json_depth(given jsonb) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT coalesce(max(depth), 0) FROM (
        SELECT sum(CASE WHEN letter IN ('[', '{') THEN 1 ELSE -1 END) OVER (ORDER BY place) AS depth
        FROM unnest(string_to_array(
            regexp_replace(regexp_replace(given::text, '"([^"\\]|\\.)*"', '', 'g'), '[^][{}]', '', 'g'), NULL
        )) WITH ORDINALITY AS brackets (letter, place)
    ) AS depths
$$;

-- Stores a job in the caller's transaction and answers with its public id.
-- Parameters: as named; what is left out has the defaults of the library, and the retry policy
-- is the preset `queue`. A known idempotency key answers with the job that has it, and raises
-- unique_violation if that was another request. A gate with `maxWaiting` that is full raises
-- configuration_limit_exceeded. Nodes find the job within a second; with `wake` they are
-- notified, for which commits of the whole server wait for each other.
-- Locks: the new rows; a key that another transaction is storing is waited for.
CREATE FUNCTION steadfast.enqueue(
    kind text,
    payload jsonb DEFAULT 'null',
    queue text DEFAULT 'default',
    run_at timestamptz DEFAULT NULL,
    priority integer DEFAULT 5,
    idempotency_key text DEFAULT NULL,
    tenant text DEFAULT 'default',
    max_retries integer DEFAULT NULL,
    tags jsonb DEFAULT NULL,
    destination text DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    wake boolean DEFAULT false
) RETURNS text
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    new_now bigint := steadfast.time(NULL);
    new_job uuid := steadfast.new_id(new_now);
    new_run_at bigint := CASE
        WHEN run_at IS NULL THEN new_now
        ELSE least(greatest(extract(epoch FROM run_at) * 1000000, 0), 253402207200000000)::bigint
    END;
    new_lane bigint;
    new_policy bigint;
    new_destination text := steadfast.origin(destination);
    new_flow_key bigint := 0;
    policy_body text := '{"maxRetries":3,"backoff":"exponential","baseDelay":"500ms","factor":2.0,"maxDelay":"30s","jitter":"full","jitterFactor":0.2}';
    asked bytea;
    known record;
    room record;
    waiting bigint;
    message text;
BEGIN
    -- What is stored after its row was copied would be lost.
    IF EXISTS (SELECT 1 FROM steadfast.record AS mark WHERE mark.kind = 'move') THEN
        RAISE 'this store is being moved, or was moved: enqueue in the other one'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    -- These two send requests wherever their payload says, with headers that may hold secrets.
    IF kind IN ('http', 'webhook') THEN
        RAISE 'kind % cannot be enqueued from SQL: use the HTTP API', kind
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT 1 FROM steadfast.enqueue_role AS bound WHERE bound.role_name = session_user)
        AND NOT EXISTS (
            SELECT 1 FROM steadfast.enqueue_role AS bound
            WHERE bound.role_name = session_user AND bound.tenant = enqueue.tenant
        )
    THEN
        RAISE 'role % may not enqueue for tenant %: steadfast.enqueue_role names its tenants', session_user, tenant
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF priority NOT BETWEEN 0 AND 9 THEN
        RAISE 'priority is %: must be between 0 and 9', priority USING ERRCODE = 'check_violation';
    END IF;
    IF octet_length(payload::text) > 262144 THEN
        RAISE 'payload is too large: must be at most 262144 bytes; store large data elsewhere and pass its address'
            USING ERRCODE = 'check_violation';
    END IF;
    IF max_retries IS NOT NULL THEN
        IF max_retries NOT BETWEEN 0 AND 100 THEN
            RAISE 'max_retries is %: must be between 0 and 100', max_retries USING ERRCODE = 'check_violation';
        END IF;
        policy_body := jsonb_set(policy_body::jsonb, '{maxRetries}', to_jsonb(max_retries))::text;
    END IF;
    -- One of a hundred levels is the body of a request to the API.
    IF steadfast.json_depth(payload) > 99 THEN
        RAISE 'payload is nested too deeply: must be at most 99 levels' USING ERRCODE = 'check_violation';
    END IF;
    IF jsonb_typeof(tags) <> 'object' OR (SELECT count(*) FROM jsonb_object_keys(tags)) > 32 THEN
        RAISE 'tags must be an object of at most 32 tags' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT 1 FROM jsonb_each(tags) AS tag
        WHERE
            jsonb_typeof(tag.value) <> 'string' OR octet_length(tag.key) NOT BETWEEN 1 AND 256
            OR octet_length(tag.value #>> '{}') > 256
    ) THEN
        RAISE 'tags must have keys of 1 to 256 bytes, and texts of up to 256 bytes'
            USING ERRCODE = 'check_violation';
    END IF;
    IF octet_length(concurrency_key) NOT BETWEEN 1 AND 255 OR concurrency_key ~ '[[:cntrl:]]' THEN
        RAISE 'concurrency_key must be 1 to 255 bytes without control characters'
            USING ERRCODE = 'check_violation';
    END IF;
    IF new_destination IS NOT NULL OR concurrency_key IS NOT NULL THEN
        new_flow_key := steadfast.hash_number(coalesce(new_destination, ''), coalesce(concurrency_key, '')) | 1;
    END IF;
    IF idempotency_key IS NOT NULL THEN
        IF octet_length(idempotency_key) NOT BETWEEN 1 AND 255 OR idempotency_key ~ '[[:cntrl:]]' THEN
            RAISE 'idempotency_key must be 1 to 255 bytes without control characters'
                USING ERRCODE = 'check_violation';
        END IF;
        asked := decode(md5((jsonb_build_array('sql', kind, payload, queue, extract(epoch FROM run_at), priority, max_retries, tags)
            || CASE WHEN new_flow_key = 0 THEN '[]' ELSE jsonb_build_array(new_destination, concurrency_key) END)::text), 'hex');
        INSERT INTO steadfast.idempotency AS held (tenant, idempotency_key, job, fingerprint)
        VALUES (tenant, idempotency_key, new_job, asked)
        ON CONFLICT DO NOTHING;
        SELECT held.job, held.fingerprint INTO STRICT known FROM steadfast.idempotency AS held
        WHERE held.tenant = enqueue.tenant AND held.idempotency_key = enqueue.idempotency_key;
        IF known.fingerprint <> asked THEN
            RAISE 'idempotency key % was used for another request, which made %',
                idempotency_key, steadfast.id_text(known.job) USING ERRCODE = 'unique_violation';
        END IF;
        IF known.job <> new_job THEN
            RETURN steadfast.id_text(known.job);
        END IF;
    END IF;
    -- In the order of their numbers, as nodes do.
    FOR room IN
        SELECT steadfast.hash_number(held.scope, held.tenant, held.key) AS number, held.*
        FROM steadfast.waiting_limit AS held
        WHERE
            (held.scope = 'tenant' AND held.tenant = '' AND held.key = enqueue.tenant)
            OR (held.scope = 'queue' AND held.tenant IN ('', enqueue.tenant) AND held.key = enqueue.queue)
        ORDER BY number
    LOOP
        waiting := steadfast.hold_waiting(
            room.number,
            CASE WHEN room.scope = 'tenant' THEN room.key ELSE nullif(room.tenant, '') END,
            CASE WHEN room.scope = 'queue' THEN room.key END,
            room.most, 1
        );
        IF waiting >= room.most THEN
            RAISE '% % has % waiting % and may have % (maxWaiting): 1 new job does not fit, and nothing was created',
                room.scope, room.key || coalesce(' of tenant ' || nullif(room.tenant, ''), ''),
                waiting, CASE waiting WHEN 1 THEN 'job' ELSE 'jobs' END, room.most
                USING ERRCODE = 'configuration_limit_exceeded';
        END IF;
    END LOOP;
    new_lane := steadfast.use_lane(tenant, queue, kind);
    new_policy := steadfast.use_policy(policy_body);
    INSERT INTO steadfast.job_hot (
        id, lane, policy, priority, run_at, created_at, at_most_once, lease, idempotency_key, tags, payload,
        flow_key, destination, concurrency_key, key_number
    ) VALUES (
        new_job, new_lane, new_policy, priority, new_run_at, new_now, false, 30000000000, idempotency_key, nullif(tags, '{}')::text, payload::text,
        new_flow_key, new_destination, concurrency_key,
        CASE WHEN concurrency_key IS NOT NULL THEN steadfast.hash_number(tenant, concurrency_key) END
    );
    INSERT INTO steadfast.count_change (lane, due_minute, waiting)
    VALUES (new_lane, new_run_at / 60000000, 1);
    -- As nodes tell each other where a job waits.
    message := jsonb_build_object(
        'jobs', jsonb_build_array(jsonb_build_array(tenant, queue, kind, 1)),
        'schedules', false,
        'ranges', jsonb_build_array(jsonb_build_array(new_lane, new_flow_key, priority * 2, new_run_at)),
        'ended', '[]'::jsonb
    )::text;
    INSERT INTO steadfast.wake_request (message) VALUES (message);
    IF wake THEN
        PERFORM pg_notify('steadfast', message);
    END IF;
    RETURN steadfast.id_text(new_job);
END
$$;

-- Only roles that are granted it.
REVOKE ALL ON FUNCTION steadfast.enqueue FROM PUBLIC;
