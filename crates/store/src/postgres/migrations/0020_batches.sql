-- Schema 20: jobs that are counted together.
--
-- Nodes of the version before go on: triggers note what they do to jobs of batches.
-- Locks: an advisory lock, which the runner holds, and the table of jobs while triggers are replaced.

-- `finished_at` is null until all jobs have ended. `counts` changes, `body` does not.
CREATE TABLE steadfast.batch (
    id uuid NOT NULL PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C",
    created_at bigint NOT NULL,
    finished_at bigint,
    counts text NOT NULL,
    body text NOT NULL
);
CREATE INDEX batch_tenant ON steadfast.batch (tenant, id);
CREATE UNIQUE INDEX batch_key ON steadfast.batch (tenant, idempotency_key)
WHERE idempotency_key IS NOT NULL;
CREATE INDEX batch_unfinished ON steadfast.batch (id) WHERE finished_at IS NULL;
CREATE INDEX batch_unfinished_tenant ON steadfast.batch (tenant) WHERE finished_at IS NULL;
CREATE INDEX batch_age ON steadfast.batch (finished_at) WHERE finished_at IS NOT NULL;

-- The jobs to make, until they are made: 0 when all have ended, 1 when all have succeeded.
CREATE TABLE steadfast.batch_callback (
    batch uuid NOT NULL,
    callback smallint NOT NULL,
    template text NOT NULL,
    PRIMARY KEY (batch, callback)
);

-- Which batch a job is of, and its state, as it was when it last ended or was taken up again.
CREATE TABLE steadfast.batch_job (
    job uuid NOT NULL PRIMARY KEY,
    batch uuid NOT NULL,
    state smallint NOT NULL
);
CREATE INDEX batch_job_batch ON steadfast.batch_job (batch, job);
CREATE INDEX batch_job_state ON steadfast.batch_job (batch, state, job);

-- What has happened to jobs of batches, until it is counted. The changes of one job are numbered in
-- their order, because each holds the job's row.
CREATE TABLE steadfast.batch_note (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    batch uuid NOT NULL,
    from_state smallint NOT NULL,
    to_state smallint NOT NULL
);
CREATE INDEX batch_note_batch ON steadfast.batch_note (batch, seq);

-- A job that was discarded may be retried, so what became of it stands in its row alone; one whose row
-- is gone never succeeds.
UPDATE steadfast.dependency SET result = 0 WHERE result = 2;

-- The bit 4 of `links` is that of a job of a batch. Jobs without links still pay one comparison.
CREATE OR REPLACE FUNCTION steadfast.links_changed() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF NEW.links & 1 <> 0 AND NEW.state >= 2 THEN
        INSERT INTO steadfast.link_note (job)
        VALUES (NEW.id);
    END IF;
    IF NEW.links & 4 <> 0 AND NEW.state <> OLD.state THEN
        INSERT INTO steadfast.batch_note (batch, from_state, to_state)
        SELECT batch_job.batch, OLD.state, NEW.state FROM steadfast.batch_job
        WHERE batch_job.job = NEW.id;
        UPDATE steadfast.batch_job SET state = NEW.state WHERE batch_job.job = NEW.id;
    END IF;
    RETURN NULL;
END
$$;
DROP TRIGGER links_changed ON steadfast.job;
CREATE TRIGGER links_changed AFTER UPDATE ON steadfast.job
FOR EACH ROW WHEN (
    NEW.links & 5 <> 0 AND (NEW.state >= 2 OR OLD.state >= 2)
    AND (NEW.state <> OLD.state OR NEW.resolved_at IS DISTINCT FROM OLD.resolved_at)
) EXECUTE FUNCTION steadfast.links_changed();

CREATE OR REPLACE FUNCTION steadfast.links_deleted() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF OLD.state = 2 THEN
        UPDATE steadfast.dependency SET result = 1
        WHERE dependency.prerequisite = OLD.id AND dependency.result = 0;
    END IF;
    IF OLD.links & 1 <> 0 THEN
        INSERT INTO steadfast.link_note (job)
        VALUES (OLD.id);
    END IF;
    DELETE FROM steadfast.dependency WHERE dependency.job = OLD.id;
    DELETE FROM steadfast.batch_job WHERE batch_job.job = OLD.id;
    RETURN NULL;
END
$$;
