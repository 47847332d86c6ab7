-- Schema 17: jobs that wait for others.
--
-- Locks: the whole file for writing, for the time of this script.

-- What a job has to do with others, as bits: 1 others wait for it, 2 it waits for others; null for most
-- jobs.
ALTER TABLE steadfast_job ADD COLUMN links INTEGER;

-- Which jobs a job waits for. `result` is 0 as long as the row of the other tells how it stands,
-- 1 once it has succeeded, 2 once it never will.
CREATE TABLE steadfast_dependency (
    job BLOB NOT NULL,
    prerequisite BLOB NOT NULL,
    result INTEGER NOT NULL,
    PRIMARY KEY (job, prerequisite)
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_dependency_prerequisite ON steadfast_dependency (prerequisite, job);
CREATE INDEX steadfast_dependency_open ON steadfast_dependency (job, prerequisite) WHERE result = 0;

-- What has happened to jobs with links, until what follows from it is done. With a dependant, it
-- concerns that one only. Dependants up to `worked_to` are done.
CREATE TABLE steadfast_link_note (
    seq INTEGER PRIMARY KEY,
    job BLOB NOT NULL,
    dependant BLOB,
    worked_to BLOB
) STRICT;

-- Triggers, so that no writer can forget it; jobs without links pay one comparison.
CREATE TRIGGER steadfast_job_links_changed AFTER UPDATE OF state, resolved_at ON steadfast_job
WHEN
    new.links & 1 <> 0 AND (new.state >= 2 OR old.state >= 2)
    AND (new.state <> old.state OR new.resolved_at IS NOT old.resolved_at)
BEGIN
    INSERT INTO steadfast_link_note (job)
    VALUES (new.id);
END;

-- What a deleted job was is kept with those that wait for it.
CREATE TRIGGER steadfast_job_links_deleted AFTER DELETE ON steadfast_job
WHEN old.links IS NOT NULL
BEGIN
    UPDATE steadfast_dependency SET result = CASE old.state WHEN 2 THEN 1 ELSE 2 END
    WHERE prerequisite = old.id AND result = 0;
    INSERT INTO steadfast_link_note (job)
    SELECT old.id WHERE old.links & 1 <> 0;
    DELETE FROM steadfast_dependency WHERE job = old.id;
END;
