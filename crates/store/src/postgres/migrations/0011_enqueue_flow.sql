-- Schema 11: `steadfast.enqueue` takes a destination and a concurrency key.
--
-- The function gets two parameters more, which have defaults: calls go on as they are, and roles that
-- were allowed to call it still are. Nodes learn where the job waits, so that they need not look
-- everywhere.
-- Locks: an advisory lock, which the runner holds.

-- A number that every node finds by itself, as core does.
CREATE FUNCTION steadfast.hash_number(one text, two text) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT ('x' || encode(substring(sha256(
        int8send(octet_length(one)) || convert_to(one, 'UTF8')
        || int8send(octet_length(two)) || convert_to(two, 'UTF8')
    ) FROM 1 FOR 8), 'hex'))::bit(64)::bigint
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

-- Who may call it.
CREATE TEMPORARY TABLE enqueue_callers ON COMMIT DROP AS
SELECT acl.grantee, acl.is_grantable
FROM pg_proc CROSS JOIN LATERAL aclexplode(pg_proc.proacl) AS acl
WHERE pg_proc.oid = 'steadfast.enqueue(text, jsonb, text, timestamptz, integer, text, text, integer, jsonb)'::regprocedure;

DROP FUNCTION steadfast.enqueue(
    text, jsonb, text, timestamptz, integer, text, text, integer, jsonb
);

-- Stores a job in the caller's transaction and answers with its public id.
-- Parameters: as named; what is left out has the defaults of the library, and the retry policy
-- is the preset `queue`. A known idempotency key answers with the job that has it, and raises
-- unique_violation if that was another request.
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

REVOKE ALL ON FUNCTION steadfast.enqueue(
    text, jsonb, text, timestamptz, integer, text, text, integer, jsonb, text, text
) FROM PUBLIC;

DO $$
DECLARE
    caller record;
BEGIN
    FOR caller IN SELECT * FROM enqueue_callers LOOP
        EXECUTE format(
            'GRANT EXECUTE ON FUNCTION steadfast.enqueue(text, jsonb, text, timestamptz, integer, text, text, integer, jsonb, text, text) TO %s %s',
            CASE caller.grantee WHEN 0 THEN 'PUBLIC' ELSE caller.grantee::regrole::text END,
            CASE WHEN caller.is_grantable AND caller.grantee <> 0 THEN 'WITH GRANT OPTION' END
        );
    END LOOP;
END
$$;
