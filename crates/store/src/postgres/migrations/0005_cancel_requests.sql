-- Schema 5: running jobs that should be cancelled, by worker, so that each node finds its own.
--
-- Locks: the jobs against writing, for the time of one walk over them.
CREATE INDEX job_cancel ON steadfast.job (worker, id) WHERE state = 1 AND cancel_requested;
