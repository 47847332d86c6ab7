-- Schema 19: jobs that wait for others, and jobs that are counted together.
--
-- Nodes of the version before go on: they never claim a job that waits for others, because of its
-- time, and triggers note what they do to jobs with links.
-- Locks: an advisory lock, which the runner holds, and the table of jobs while a column and triggers
-- are added.

-- What a job has to do with others, as bits: 1 others wait for it, 2 it waits for others, 4 it is of a
-- batch; null for most jobs.
ALTER TABLE steadfast.job ADD COLUMN links smallint;

-- Which jobs a job waits for. `result` is 0 as long as the row of the other tells how it stands,
-- 1 once it has succeeded, 2 once it never will.
CREATE TABLE steadfast.dependency (
    job uuid NOT NULL,
    prerequisite uuid NOT NULL,
    result smallint NOT NULL,
    PRIMARY KEY (job, prerequisite)
);
CREATE INDEX dependency_prerequisite ON steadfast.dependency (prerequisite, job);
CREATE INDEX dependency_open ON steadfast.dependency (job, prerequisite) WHERE result = 0;

CREATE TABLE steadfast.batch (
    id uuid NOT NULL PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    finished_at bigint,
    body text NOT NULL
);
CREATE INDEX batch_tenant ON steadfast.batch (tenant, id);
CREATE INDEX batch_age ON steadfast.batch (finished_at) WHERE finished_at IS NOT NULL;

-- Which batch a job is of.
CREATE TABLE steadfast.batch_job (
    job uuid NOT NULL PRIMARY KEY,
    batch uuid NOT NULL
);
CREATE INDEX batch_job_batch ON steadfast.batch_job (batch, job);

-- What has happened to jobs with links, until what follows from it is done. With a dependant, it
-- concerns that one only. Dependants up to `worked_to` are done.
CREATE TABLE steadfast.link_note (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job uuid NOT NULL,
    links smallint NOT NULL,
    from_state smallint NOT NULL,
    to_state smallint NOT NULL,
    batch uuid,
    dependant uuid,
    worked_to uuid
);

-- Triggers, so that no writer can forget it; jobs without links pay one comparison.
CREATE FUNCTION steadfast.links_changed() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    INSERT INTO steadfast.link_note (job, links, from_state, to_state, batch)
    VALUES (
        NEW.id, NEW.links, OLD.state, NEW.state,
        CASE WHEN NEW.links & 4 <> 0 THEN
            (SELECT batch_job.batch FROM steadfast.batch_job WHERE batch_job.job = NEW.id)
        END
    );
    RETURN NULL;
END
$$;
CREATE TRIGGER links_changed AFTER UPDATE ON steadfast.job
FOR EACH ROW WHEN (
    NEW.links & 5 <> 0 AND (NEW.state >= 2 OR OLD.state >= 2)
    AND (NEW.state <> OLD.state OR NEW.resolved_at IS DISTINCT FROM OLD.resolved_at)
) EXECUTE FUNCTION steadfast.links_changed();

-- What a deleted job was is kept with those that wait for it.
CREATE FUNCTION steadfast.links_deleted() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    UPDATE steadfast.dependency SET result = CASE OLD.state WHEN 2 THEN 1 ELSE 2 END
    WHERE dependency.prerequisite = OLD.id AND dependency.result = 0;
    IF OLD.links & 1 <> 0 THEN
        INSERT INTO steadfast.link_note (job, links, from_state, to_state)
        VALUES (OLD.id, 1, OLD.state, OLD.state);
    END IF;
    DELETE FROM steadfast.dependency WHERE dependency.job = OLD.id;
    DELETE FROM steadfast.batch_job WHERE batch_job.job = OLD.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER links_deleted AFTER DELETE ON steadfast.job
FOR EACH ROW WHEN (OLD.links IS NOT NULL) EXECUTE FUNCTION steadfast.links_deleted();
