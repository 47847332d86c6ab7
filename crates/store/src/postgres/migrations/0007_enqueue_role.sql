-- Schema 7: `steadfast.enqueue` needs no rights on tables.
--
-- Before, a role that only enqueues had to write to tables that hold the jobs of all tenants.
-- Now the function does it with the rights of its owner and a search path of its own, and to call
-- it has to be granted. Nodes do not call it.
-- Locks: an advisory lock, which the runner holds.

-- The tenants that a role may enqueue for. A role without rows may enqueue for every tenant. The
-- role is the one that logged in, whatever it has set since.
CREATE TABLE steadfast.enqueue_role (
    role_name name NOT NULL,
    tenant text COLLATE "C" NOT NULL CHECK (tenant ~ '^[A-Za-z0-9_.:/@-]{1,128}$'),
    PRIMARY KEY (role_name, tenant)
);

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

REVOKE ALL ON FUNCTION steadfast.enqueue(
    text, jsonb, text, timestamptz, integer, text, text, integer, jsonb
) FROM PUBLIC;
