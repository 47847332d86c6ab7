-- Schema 19: jobs that wait for others.
--
-- Nodes of the version before go on: they never claim a job that waits for others, because of its
-- time, and triggers note what they do to jobs with links.
-- Locks: an advisory lock, which the runner holds, and the table of jobs while a column and triggers
-- are added.

-- What a job has to do with others, as bits: 1 others wait for it, 2 it waits for others; null for most
-- jobs.
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

-- What has happened to jobs with links, until what follows from it is done. With a dependant, it
-- concerns that one only. Dependants up to `worked_to` are done.
CREATE TABLE steadfast.link_note (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job uuid NOT NULL,
    dependant uuid,
    worked_to uuid
);

-- Triggers, so that no writer can forget it; jobs without links pay one comparison.
CREATE FUNCTION steadfast.links_changed() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    INSERT INTO steadfast.link_note (job)
    VALUES (NEW.id);
    RETURN NULL;
END
$$;
CREATE TRIGGER links_changed AFTER UPDATE ON steadfast.job
FOR EACH ROW WHEN (
    NEW.links & 1 <> 0 AND (NEW.state >= 2 OR OLD.state >= 2)
    AND (NEW.state <> OLD.state OR NEW.resolved_at IS DISTINCT FROM OLD.resolved_at)
) EXECUTE FUNCTION steadfast.links_changed();

-- What a deleted job was is kept with those that wait for it.
CREATE FUNCTION steadfast.links_deleted() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    UPDATE steadfast.dependency SET result = CASE OLD.state WHEN 2 THEN 1 ELSE 2 END
    WHERE dependency.prerequisite = OLD.id AND dependency.result = 0;
    IF OLD.links & 1 <> 0 THEN
        INSERT INTO steadfast.link_note (job)
        VALUES (OLD.id);
    END IF;
    DELETE FROM steadfast.dependency WHERE dependency.job = OLD.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER links_deleted AFTER DELETE ON steadfast.job
FOR EACH ROW WHEN (OLD.links IS NOT NULL) EXECUTE FUNCTION steadfast.links_deleted();
