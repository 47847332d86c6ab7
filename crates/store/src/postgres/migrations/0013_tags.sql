-- Schema 13: jobs are found by their tags, and have a column for their trace.
--
-- Reads every job once, for the tags of those that have some: some seconds per million. Nodes of the
-- version before go on: triggers keep the tags of their jobs too, and their traces stay among the
-- tags, under the empty name.
-- Locks: an advisory lock, which the runner holds, and the table of jobs while columns are added.

-- What only some jobs have: their trace, and what follows from options, as JSON.
ALTER TABLE steadfast.job ADD COLUMN traceparent text COLLATE "C";
ALTER TABLE steadfast.job ADD COLUMN extras text COLLATE "C";

-- Jobs by each of their tags, as `name:value`; only jobs with tags pay for it.
CREATE TABLE steadfast.tag (
    tag text COLLATE "C" NOT NULL,
    job uuid NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    PRIMARY KEY (tag, job)
);
CREATE INDEX tag_tenant ON steadfast.tag (tenant, tag, job);

-- Every writer of jobs is covered: nodes, nodes of the version before, and `steadfast.enqueue`.
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
CREATE FUNCTION steadfast.delete_tags() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    DELETE FROM steadfast.tag USING json_each_text(OLD.tags::json) AS each
    WHERE tag.tag = each.key || ':' || each.value AND tag.job = OLD.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER tags_created AFTER INSERT ON steadfast.job
FOR EACH ROW WHEN (NEW.tags IS NOT NULL) EXECUTE FUNCTION steadfast.save_tags();
CREATE TRIGGER tags_deleted AFTER DELETE ON steadfast.job
FOR EACH ROW WHEN (OLD.tags IS NOT NULL) EXECUTE FUNCTION steadfast.delete_tags();

INSERT INTO steadfast.tag (tag, job, tenant)
SELECT each.key || ':' || each.value, job.id, lane.tenant
FROM steadfast.job
JOIN steadfast.lane ON lane.id = job.lane
CROSS JOIN LATERAL json_each_text(job.tags::json) AS each
WHERE job.tags IS NOT NULL AND each.key <> ''
ON CONFLICT DO NOTHING;

CREATE TYPE steadfast.new_job_v3 AS (
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
    webhook text,
    sublane bigint,
    destination text,
    concurrency_key text,
    key_number bigint,
    traceparent text,
    extras text
);
