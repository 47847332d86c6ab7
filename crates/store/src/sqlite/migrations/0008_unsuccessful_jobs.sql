-- Schema 8: one index in place of two, because every statement that writes jobs opens all of them.
--
-- Reads every job once: some seconds per million.
-- Locks: the whole file for writing, for the time of this script.

DROP INDEX steadfast_job_lane_failed;
DROP INDEX steadfast_job_lane_cancelled;
-- The failed and the cancelled jobs of a lane, which are rare and looked for.
CREATE INDEX steadfast_job_lane_unsuccessful ON steadfast_job (lane, state, id) WHERE state IN (3, 4);
