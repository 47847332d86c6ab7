-- Schema 18: jobs that are counted together.
--
-- Locks: the whole file for writing, for the time of this script.

-- `finished_at` is null until all jobs have ended. `counts` changes, `body` does not.
CREATE TABLE steadfast_batch (
    id BLOB NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    idempotency_key TEXT,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    counts TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_batch_tenant ON steadfast_batch (tenant, id);
CREATE UNIQUE INDEX steadfast_batch_key ON steadfast_batch (tenant, idempotency_key)
WHERE idempotency_key IS NOT NULL;
CREATE INDEX steadfast_batch_unfinished ON steadfast_batch (id) WHERE finished_at IS NULL;
CREATE INDEX steadfast_batch_unfinished_tenant ON steadfast_batch (tenant) WHERE finished_at IS NULL;
CREATE INDEX steadfast_batch_age ON steadfast_batch (finished_at) WHERE finished_at IS NOT NULL;

-- The jobs to make, until they are made: 0 when all have ended, 1 when all have succeeded.
CREATE TABLE steadfast_batch_callback (
    batch BLOB NOT NULL,
    callback INTEGER NOT NULL,
    template TEXT NOT NULL,
    PRIMARY KEY (batch, callback)
) STRICT;

-- Which batch a job is of, and its state, as it was when it last ended or was taken up again.
CREATE TABLE steadfast_batch_job (
    job BLOB NOT NULL PRIMARY KEY,
    batch BLOB NOT NULL,
    state INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_batch_job_batch ON steadfast_batch_job (batch, job);
CREATE INDEX steadfast_batch_job_state ON steadfast_batch_job (batch, state, job);

-- What has happened to jobs of batches, until it is counted.
CREATE TABLE steadfast_batch_note (
    seq INTEGER PRIMARY KEY,
    batch BLOB NOT NULL,
    from_state INTEGER NOT NULL,
    to_state INTEGER NOT NULL
) STRICT;
CREATE INDEX steadfast_batch_note_batch ON steadfast_batch_note (batch);

-- A job that was discarded may be retried, so what became of it stands in its row alone; one whose row
-- is gone never succeeds.
UPDATE steadfast_dependency SET result = 0 WHERE result = 2;

-- The bit 4 of `links` is that of a job of a batch. Jobs without links still pay one comparison.
DROP TRIGGER steadfast_job_links_changed;
CREATE TRIGGER steadfast_job_links_changed AFTER UPDATE OF state, resolved_at ON steadfast_job
WHEN
    new.links & 5 <> 0 AND (new.state >= 2 OR old.state >= 2)
    AND (new.state <> old.state OR new.resolved_at IS NOT old.resolved_at)
BEGIN
    INSERT INTO steadfast_link_note (job)
    SELECT new.id WHERE new.links & 1 <> 0 AND new.state >= 2;
    INSERT INTO steadfast_batch_note (batch, from_state, to_state)
    SELECT batch, old.state, new.state FROM steadfast_batch_job
    WHERE job = new.id AND new.links & 4 <> 0 AND new.state <> old.state;
    UPDATE steadfast_batch_job SET state = new.state
    WHERE job = new.id AND new.links & 4 <> 0 AND state <> new.state;
END;

DROP TRIGGER steadfast_job_links_deleted;
CREATE TRIGGER steadfast_job_links_deleted AFTER DELETE ON steadfast_job
WHEN old.links IS NOT NULL
BEGIN
    UPDATE steadfast_dependency SET result = 1
    WHERE prerequisite = old.id AND result = 0 AND old.state = 2;
    INSERT INTO steadfast_link_note (job)
    SELECT old.id WHERE old.links & 1 <> 0;
    DELETE FROM steadfast_dependency WHERE job = old.id;
    DELETE FROM steadfast_batch_job WHERE job = old.id;
END;
