-- Schema 12: lanes and policies say when they were used last, so that what nothing uses can go.
--
-- Nodes of the version before remember numbers for as long as they run and do not say when they use
-- them, so what they may know counts as used for a week from now.
-- Locks: an advisory lock, which the runner holds; the tables of lanes and policies while they are
-- rewritten, which are small.

-- Written when a number is looked up, at most once an hour.
ALTER TABLE steadfast.lane
    ADD COLUMN used_at bigint NOT NULL DEFAULT (steadfast.time(NULL) + 604800::bigint * 1000000);
ALTER TABLE steadfast.policy
    ADD COLUMN used_at bigint NOT NULL DEFAULT (steadfast.time(NULL) + 604800::bigint * 1000000);

-- When unused names were looked for last, and by which transaction: those with lower numbers had begun
-- to write before.
CREATE TABLE steadfast.name_search (
    at bigint NOT NULL,
    transaction xid8 NOT NULL
);
INSERT INTO steadfast.name_search (at, transaction) VALUES (0, pg_current_xact_id());

-- How long ago a number was used, as its row says: 0 lately; 1 so long that it should be noted again;
-- 2 so long that it may be deleted, or at a time that is far from any.
CREATE FUNCTION steadfast.use_age(used_at bigint, now bigint) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN used_at BETWEEN now - 3600::bigint * 1000000 AND now + 691200::bigint * 1000000 THEN 0
        WHEN used_at BETWEEN now - 43200::bigint * 1000000 AND now THEN 1
        ELSE 2
    END
$$;

-- The number of a lane, which is given one if it has none.
-- Parameters: as named; a time in the place of the database's, or null. Locks: the row, if its use is
-- noted or it is new: a row that is old enough to be deleted is waited for, others are not.
CREATE FUNCTION steadfast.lane_number(tenant text, queue text, kind text, given bigint)
RETURNS integer
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    now bigint := steadfast.time(given);
    known record;
    found_number integer;
BEGIN
    FOR tries IN 1..10 LOOP
        SELECT lane.id, steadfast.use_age(lane.used_at, now) AS age INTO known FROM steadfast.lane
        WHERE lane.tenant = lane_number.tenant AND lane.queue = lane_number.queue
            AND lane.kind = lane_number.kind;
        IF NOT FOUND THEN
            -- The look comes first, because a conflict uses up a number.
            INSERT INTO steadfast.lane AS new (tenant, queue, kind, used_at)
            VALUES (tenant, queue, kind, now)
            ON CONFLICT DO NOTHING
            RETURNING new.id INTO found_number;
        ELSIF known.age = 2 THEN
            -- One that was deleted just now is not found, and given a new number.
            UPDATE steadfast.lane AS old SET used_at = now WHERE old.id = known.id
            RETURNING old.id INTO found_number;
        ELSE
            IF known.age = 1 THEN
                -- Nothing waits for a transaction that has noted it and goes on.
                UPDATE steadfast.lane AS old SET used_at = now WHERE old.id = ANY(ARRAY(
                    SELECT lane.id FROM steadfast.lane WHERE lane.id = known.id
                    FOR NO KEY UPDATE SKIP LOCKED
                ));
            END IF;
            found_number := known.id;
        END IF;
        IF found_number IS NOT NULL THEN
            RETURN found_number;
        END IF;
    END LOOP;
    RAISE 'other transactions give lanes their numbers' USING ERRCODE = 'serialization_failure';
END
$$;

-- The number of a retry policy, which is given one if it has none.
-- Parameters: the policy as JSON; a time in the place of the database's, or null. Locks: as above.
CREATE FUNCTION steadfast.policy_number(body text, given bigint) RETURNS integer
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    now bigint := steadfast.time(given);
    known record;
    found_number integer;
BEGIN
    FOR tries IN 1..10 LOOP
        SELECT policy.id, steadfast.use_age(policy.used_at, now) AS age INTO known
        FROM steadfast.policy WHERE md5(policy.body) = md5(policy_number.body);
        IF NOT FOUND THEN
            INSERT INTO steadfast.policy AS new (body, used_at) VALUES (body, now)
            ON CONFLICT DO NOTHING
            RETURNING new.id INTO found_number;
        ELSIF known.age = 2 THEN
            UPDATE steadfast.policy AS old SET used_at = now WHERE old.id = known.id
            RETURNING old.id INTO found_number;
        ELSE
            IF known.age = 1 THEN
                UPDATE steadfast.policy AS old SET used_at = now WHERE old.id = ANY(ARRAY(
                    SELECT policy.id FROM steadfast.policy WHERE policy.id = known.id
                    FOR NO KEY UPDATE SKIP LOCKED
                ));
            END IF;
            found_number := known.id;
        END IF;
        IF found_number IS NOT NULL THEN
            RETURN found_number;
        END IF;
    END LOOP;
    RAISE 'other transactions give policies their numbers' USING ERRCODE = 'serialization_failure';
END
$$;

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
    tags jsonb DEFAULT NULL,
    destination text DEFAULT NULL,
    concurrency_key text DEFAULT NULL
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
    new_lane integer;
    new_policy integer;
    new_destination text := steadfast.origin(destination);
    new_sublane bigint;
    policy_body text := '{"maxRetries":3,"backoff":"exponential","baseDelay":"500ms","factor":2.0,"maxDelay":"30s","jitter":"full","jitterFactor":0.2}';
    asked bytea;
    known record;
BEGIN
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
    IF tags IS NOT NULL AND EXISTS (SELECT 1 FROM jsonb_each(tags) AS tag WHERE jsonb_typeof(tag.value) <> 'string') THEN
        RAISE 'tags must be texts' USING ERRCODE = 'check_violation';
    END IF;
    IF octet_length(concurrency_key) NOT BETWEEN 1 AND 255 OR concurrency_key ~ '[[:cntrl:]]' THEN
        RAISE 'concurrency_key must be 1 to 255 bytes without control characters'
            USING ERRCODE = 'check_violation';
    END IF;
    IF new_destination IS NOT NULL OR concurrency_key IS NOT NULL THEN
        new_sublane := steadfast.hash_number(coalesce(new_destination, ''), coalesce(concurrency_key, '')) | 1;
    END IF;
    IF idempotency_key IS NOT NULL THEN
        IF octet_length(idempotency_key) NOT BETWEEN 1 AND 255 OR idempotency_key ~ '[[:cntrl:]]' THEN
            RAISE 'idempotency_key must be 1 to 255 bytes without control characters'
                USING ERRCODE = 'check_violation';
        END IF;
        asked := decode(md5((jsonb_build_array('sql', kind, payload, queue, extract(epoch FROM run_at), priority, max_retries, tags)
            || CASE WHEN new_sublane IS NULL THEN '[]' ELSE jsonb_build_array(new_destination, concurrency_key) END)::text), 'hex');
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
    new_lane := steadfast.lane_number(tenant, queue, kind, NULL);
    new_policy := steadfast.policy_number(policy_body, NULL);
    INSERT INTO steadfast.job (
        id, lane, policy, priority, run_at, created_at, at_most_once, lease, idempotency_key, tags, payload,
        sublane, destination, concurrency_key, key_number
    ) VALUES (
        new_job, new_lane, new_policy, priority, new_run_at, new_now, false, 30000000000, idempotency_key, nullif(tags, '{}')::text, payload::text,
        new_sublane, new_destination, concurrency_key,
        CASE WHEN concurrency_key IS NOT NULL THEN steadfast.hash_number(tenant, concurrency_key) END
    );
    INSERT INTO steadfast.count_change (lane, due_minute, waiting)
    VALUES (new_lane, new_run_at / 60000000, 1);
    -- As nodes tell each other where a job waits.
    PERFORM pg_notify('steadfast', jsonb_build_object(
        'jobs', jsonb_build_array(jsonb_build_array(tenant, queue, kind, 1)),
        'schedules', false,
        'strips', jsonb_build_array(jsonb_build_array(new_lane, coalesce(new_sublane, 0), priority * 2, new_run_at)),
        'ended', '[]'::jsonb
    )::text);
    RETURN steadfast.id_text(new_job);
END
$$;
