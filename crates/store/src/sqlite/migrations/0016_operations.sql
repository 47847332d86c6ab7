-- Schema 16: work on many jobs, what it did to each of them, and who did what.
--
-- `pending` says what is waited for: 0 nothing, 1 its turn, 2 its outcome. Rows of large operations
-- are many, so the indexes beside the key hold few of them.
-- Locks: the whole file for writing, for the time of this script.
CREATE TABLE steadfast_operation (
    id BLOB NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    is_open INTEGER NOT NULL,
    finished_at INTEGER,
    revision INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_operation_open ON steadfast_operation (id) WHERE is_open = 1;
CREATE INDEX steadfast_operation_open_tenant ON steadfast_operation (tenant) WHERE is_open = 1;
CREATE INDEX steadfast_operation_tenant ON steadfast_operation (tenant, id);
CREATE INDEX steadfast_operation_age ON steadfast_operation (finished_at) WHERE is_open = 0;

CREATE TABLE steadfast_operation_job (
    operation BLOB NOT NULL,
    job BLOB NOT NULL,
    result TEXT,
    attempts INTEGER NOT NULL,
    fingerprint TEXT,
    outcome TEXT,
    pending INTEGER NOT NULL,
    PRIMARY KEY (operation, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_operation_job_pending ON steadfast_operation_job (operation, pending, job)
WHERE pending > 0;
CREATE INDEX steadfast_operation_job_left ON steadfast_operation_job (operation, job)
WHERE result <> 'changed';
CREATE INDEX steadfast_operation_job_job ON steadfast_operation_job (job, operation);

CREATE TABLE steadfast_audit (
    id BLOB NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_audit_subject ON steadfast_audit (subject, id);
CREATE INDEX steadfast_audit_tenant ON steadfast_audit (tenant, id);
CREATE INDEX steadfast_audit_age ON steadfast_audit (at);
