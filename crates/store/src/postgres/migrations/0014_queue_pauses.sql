-- Schema 14: a pause of a queue is that of its gate.
--
-- What was paused stays so. A gate that has other limits keeps them; one that is paused already keeps
-- its pause, unless that has an end. Nodes of the version before read and write the old table: what
-- they pause and resume, a trigger does to the gate; what nodes of this version resume stays paused
-- for them until they are replaced.
-- Locks: an advisory lock, which the runner holds; the table of paused queues, for a moment.

CREATE OR REPLACE FUNCTION steadfast.pause_queue_gate(of_tenant text, of_queue text)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO steadfast.document AS stored (space, id, body, revision)
    VALUES (
        'gate',
        'queue ' || of_tenant || ' ' || of_queue,
        jsonb_build_object(
            'tenant', of_tenant, 'scope', 'queue', 'key', of_queue,
            'paused', jsonb_build_object(
                'since', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
            )
        )::text,
        1
    )
    ON CONFLICT (space, id) DO UPDATE SET
        body = jsonb_set(stored.body::jsonb, '{paused}', EXCLUDED.body::jsonb -> 'paused')::text,
        revision = stored.revision + 1
    WHERE
        stored.body::jsonb -> 'paused' IS NULL
        OR stored.body::jsonb #> '{paused,until}' IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION steadfast.resume_queue_gate(of_tenant text, of_queue text)
RETURNS void LANGUAGE sql AS $$
    DELETE FROM steadfast.document
    WHERE
        space = 'gate' AND id = 'queue ' || of_tenant || ' ' || of_queue
        AND body::jsonb - ARRAY['tenant', 'scope', 'key', 'paused'] = '{}'::jsonb;
    UPDATE steadfast.document SET
        body = (body::jsonb - 'paused')::text,
        revision = revision + 1
    WHERE
        space = 'gate' AND id = 'queue ' || of_tenant || ' ' || of_queue
        AND body::jsonb -> 'paused' IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION steadfast.paused_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM steadfast.pause_queue_gate(NEW.tenant, NEW.queue);
    ELSE
        PERFORM steadfast.resume_queue_gate(OLD.tenant, OLD.queue);
    END IF;
    RETURN NULL;
END
$$;

DROP TRIGGER IF EXISTS paused_changed ON steadfast.paused;
CREATE TRIGGER paused_changed AFTER INSERT OR DELETE ON steadfast.paused
FOR EACH ROW EXECUTE FUNCTION steadfast.paused_changed();

SELECT steadfast.pause_queue_gate(tenant, queue) FROM steadfast.paused;
