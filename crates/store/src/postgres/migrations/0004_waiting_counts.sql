-- Schema 4: waiting jobs are counted by the minute of their time, and lists find a lane's jobs.
--
-- Reads every waiting job once, and every job once for the indexes: some seconds per million.
-- Nodes of the version before go on writing to `counted`. They do not say for which minute, so
-- the lanes that they touch are noted, and counted anew in the background.
-- Locks: an advisory lock, which the runner holds; the table of jobs against writing, while the
-- indexes are made.

-- Waiting jobs that have been tried already.
ALTER TABLE steadfast.lane_count ADD COLUMN retrying bigint NOT NULL DEFAULT 0;

-- What `counted` was, and the minute of `run_at` where the number of waiting jobs changes. A
-- table of its own, because nodes of the version before would move its rows without that.
CREATE TABLE steadfast.count_change (
    minute bigint,
    due_minute bigint,
    lane integer NOT NULL,
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

-- Waiting jobs by the minute of `run_at`: whether a job is due changes with the time alone, and
-- then no row is written, so the counts cannot be kept by label. Minutes long past are moved
-- into minute 0. A single count may be negative; only sums mean something.
CREATE TABLE steadfast.waiting_count (
    minute bigint NOT NULL,
    lane integer NOT NULL,
    waiting bigint NOT NULL,
    retrying bigint NOT NULL,
    PRIMARY KEY (minute, lane)
) WITH (fillfactor = 50);

-- Lanes whose minutes have to be counted anew.
CREATE TABLE steadfast.recount_lane (
    lane integer NOT NULL
);

-- Only nodes of the version before write to `counted`, and pay for this.
CREATE FUNCTION steadfast.note_recount() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO steadfast.recount_lane (lane) SELECT DISTINCT lane FROM added WHERE waiting <> 0;
    RETURN NULL;
END
$$;
CREATE TRIGGER counted_note_recount AFTER INSERT ON steadfast.counted
REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION steadfast.note_recount();

-- The lists of a tenant, queue or kind: one range for each lane. Ids ascend with time, so that
-- new entries go to the end of their lane's range. Every lane is above 0; the condition keeps
-- statements that know only an id from walking over this index instead of the primary key.
CREATE INDEX job_lane ON steadfast.job (lane, id) WHERE lane > 0;
-- The same for what is rare and looked for.
CREATE INDEX job_lane_failed ON steadfast.job (lane, id) WHERE state = 3;
CREATE INDEX job_lane_cancelled ON steadfast.job (lane, id) WHERE state = 4;

-- Under the lock of the indexes no job changes, so this is exact.
INSERT INTO steadfast.waiting_count (minute, lane, waiting, retrying)
SELECT run_at / 60000000, lane, count(*), count(*) FILTER (WHERE attempt > attempts_before)
FROM steadfast.job
WHERE state = 0
GROUP BY run_at / 60000000, lane;

INSERT INTO steadfast.lane_count AS total (
    lane, waiting, running, succeeded, failed, cancelled, dead_letters, attempts, successes,
    failures, retries, successful_retries, exhausted, retrying
)
SELECT lane, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, sum(retrying)
FROM steadfast.waiting_count
GROUP BY lane
ON CONFLICT (lane) DO UPDATE SET retrying = excluded.retrying;

-- Stores a job in the caller's transaction and answers with its public id.
-- Parameters: as named; what is left out has the defaults of the library, and the retry policy
-- is the preset `queue`. A known idempotency key answers with the job that has it, and raises
-- unique_violation if that was another request.
-- Locks: the new rows; a key that another transaction is storing is waited for.
CREATE OR REPLACE FUNCTION steadfast.enqueue(
    kind text,
    payload jsonb DEFAULT 'null',
    queue text DEFAULT 'default',
    run_at timestamptz DEFAULT NULL,
    priority integer DEFAULT 5,
    idempotency_key text DEFAULT NULL,
    tenant text DEFAULT 'default',
    max_retries integer DEFAULT NULL,
    tags jsonb DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    new_now bigint := steadfast.time(NULL);
    new_job uuid := steadfast.new_id(new_now);
    new_run_at bigint := CASE
        WHEN run_at IS NULL THEN new_now
        ELSE least(greatest(extract(epoch FROM run_at) * 1000000, 0), 253402207200000000)::bigint
    END;
    new_lane integer;
    new_policy integer;
    policy_body text := '{"maxRetries":3,"backoff":"exponential","baseDelay":"500ms","factor":2.0,"maxDelay":"30s","jitter":"full","jitterFactor":0.2}';
    asked bytea;
    known record;
BEGIN
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
    IF tags IS NOT NULL AND EXISTS (SELECT 1 FROM jsonb_each(tags) AS tag WHERE jsonb_typeof(tag.value) <> 'string') THEN
        RAISE 'tags must be texts' USING ERRCODE = 'check_violation';
    END IF;
    IF idempotency_key IS NOT NULL THEN
        IF octet_length(idempotency_key) NOT BETWEEN 1 AND 255 OR idempotency_key ~ '[[:cntrl:]]' THEN
            RAISE 'idempotency_key must be 1 to 255 bytes without control characters'
                USING ERRCODE = 'check_violation';
        END IF;
        asked := decode(md5(jsonb_build_array('sql', kind, payload, queue, extract(epoch FROM run_at), priority, max_retries, tags)::text), 'hex');
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
    SELECT lane.id INTO new_lane FROM steadfast.lane
    WHERE lane.tenant = enqueue.tenant AND lane.queue = enqueue.queue AND lane.kind = enqueue.kind;
    IF NOT FOUND THEN
        INSERT INTO steadfast.lane (tenant, queue, kind) VALUES (tenant, queue, kind)
        ON CONFLICT ON CONSTRAINT lane_tenant_queue_kind_key DO UPDATE SET kind = excluded.kind
        RETURNING lane.id INTO new_lane;
    END IF;
    SELECT policy.id INTO new_policy FROM steadfast.policy WHERE md5(policy.body) = md5(policy_body);
    IF NOT FOUND THEN
        INSERT INTO steadfast.policy (body) VALUES (policy_body)
        ON CONFLICT (md5(body)) DO UPDATE SET body = excluded.body
        RETURNING policy.id INTO new_policy;
    END IF;
    INSERT INTO steadfast.job (
        id, lane, policy, priority, run_at, created_at, at_most_once, lease, idempotency_key, tags, payload
    ) VALUES (
        new_job, new_lane, new_policy, priority, new_run_at, new_now, false, 30000000000, idempotency_key, nullif(tags, '{}')::text, payload::text
    );
    INSERT INTO steadfast.count_change (lane, due_minute, waiting)
    VALUES (new_lane, new_run_at / 60000000, 1);
    PERFORM pg_notify('steadfast', '');
    RETURN steadfast.id_text(new_job);
END
$$;
