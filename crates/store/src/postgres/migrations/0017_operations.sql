-- Schema 17: work on many jobs, what it did to each of them, and who did what.
--
-- `pending` says what is waited for: 0 nothing, 1 its turn, 2 its outcome. Rows of large operations
-- are many, so the indexes beside the key hold few of them.
-- Locks: an advisory lock, which the runner holds.
CREATE TABLE IF NOT EXISTS steadfast.operation (
    id uuid NOT NULL PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    is_open boolean NOT NULL,
    finished_at bigint,
    revision bigint NOT NULL,
    body text NOT NULL
);
CREATE INDEX IF NOT EXISTS operation_open ON steadfast.operation (id) WHERE is_open;
CREATE INDEX IF NOT EXISTS operation_open_tenant ON steadfast.operation (tenant) WHERE is_open;
CREATE INDEX IF NOT EXISTS operation_tenant ON steadfast.operation (tenant, id);
CREATE INDEX IF NOT EXISTS operation_age ON steadfast.operation (finished_at) WHERE NOT is_open;

CREATE TABLE IF NOT EXISTS steadfast.operation_job (
    operation uuid NOT NULL,
    job uuid NOT NULL,
    result text,
    attempts bigint NOT NULL,
    fingerprint text,
    outcome text,
    pending smallint NOT NULL,
    PRIMARY KEY (operation, job)
);
CREATE INDEX IF NOT EXISTS operation_job_pending ON steadfast.operation_job (operation, pending, job)
WHERE pending > 0;
CREATE INDEX IF NOT EXISTS operation_job_left ON steadfast.operation_job (operation, job)
WHERE result <> 'changed';
CREATE INDEX IF NOT EXISTS operation_job_job ON steadfast.operation_job (job, operation);

CREATE TABLE IF NOT EXISTS steadfast.audit (
    id uuid NOT NULL PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    actor text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    body text NOT NULL
);
CREATE INDEX IF NOT EXISTS audit_subject ON steadfast.audit (subject, id);
CREATE INDEX IF NOT EXISTS audit_tenant ON steadfast.audit (tenant, id);
CREATE INDEX IF NOT EXISTS audit_age ON steadfast.audit (at);
