-- Schema 14: failures of one cause are counted together.
--
-- Reads every job once, for the index: some seconds per million. What failed before belongs to no
-- group until it fails again.
-- Locks: the whole file for writing, for the time of this script.

-- The number of the group that the newest failure belongs to; only jobs with one pay for the index.
ALTER TABLE steadfast_job ADD COLUMN failure_group INTEGER;
CREATE INDEX steadfast_job_failure_group ON steadfast_job (failure_group, id)
    WHERE failure_group IS NOT NULL;

-- A group: its body, and the columns by which it is found, in their order in the body.
CREATE TABLE steadfast_failure (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    count INTEGER NOT NULL,
    state TEXT NOT NULL,
    state_since INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    dead_letters INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (tenant, fingerprint)
) STRICT;

-- The order in which groups are listed, of a tenant and of all.
CREATE INDEX steadfast_failure_of_tenant ON steadfast_failure (tenant, count, fingerprint);
CREATE INDEX steadfast_failure_by_count ON steadfast_failure (count, tenant, fingerprint);
-- What alerts look for.
CREATE INDEX steadfast_failure_new ON steadfast_failure (state, state_since)
    WHERE state IN ('new', 'regressed');
-- What retention may delete.
CREATE INDEX steadfast_failure_old ON steadfast_failure (last_seen) WHERE dead_letters = 0;
