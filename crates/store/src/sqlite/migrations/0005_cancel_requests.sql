-- Schema 5: running jobs that should be cancelled, by worker, so that each node finds its own.
--
-- Locks: the whole file for writing, for the time of this script.
CREATE INDEX steadfast_job_cancel ON steadfast_job (worker, id) WHERE state = 1 AND cancel_requested = 1;
