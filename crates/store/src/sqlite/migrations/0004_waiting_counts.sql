-- Schema 4: waiting jobs are counted by the minute of their time, and lists find a lane's jobs.
--
-- Reads every waiting job once, and every job once for the index: some seconds per million.
-- Locks: the whole file for writing, for the time of this script.

-- Waiting jobs that have been tried already.
ALTER TABLE steadfast_lane ADD COLUMN retrying INTEGER NOT NULL DEFAULT 0;

-- Waiting jobs by the minute of `run_at`: whether a job is due changes with the time alone, and
-- then no row is written, so the counts cannot be kept by label. Minutes long past are moved
-- into minute 0. A single count may be negative; only sums mean something.
CREATE TABLE steadfast_waiting (
    minute INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    retrying INTEGER NOT NULL,
    PRIMARY KEY (minute, lane)
) STRICT, WITHOUT ROWID;

INSERT INTO steadfast_waiting (minute, lane, waiting, retrying)
SELECT run_at / 60000000, lane, count(*), sum(attempt > attempts_before)
FROM steadfast_job
WHERE state = 0
GROUP BY run_at / 60000000, lane;

UPDATE steadfast_lane SET retrying = (
    SELECT coalesce(sum(retrying), 0) FROM steadfast_waiting WHERE lane = steadfast_lane.id
);

-- How often the counters were repaired, so that no repair is made twice.
CREATE TABLE steadfast_recount (
    times INTEGER NOT NULL
) STRICT;
INSERT INTO steadfast_recount (times) VALUES (0);

-- The lists of a tenant, queue or kind: one range for each lane. Ids ascend with time, so that
-- new entries go to the end of their lane's range; only an insert and a delete touch it.
CREATE INDEX steadfast_job_lane ON steadfast_job (lane, id);
-- The same for what is rare and looked for.
CREATE INDEX steadfast_job_lane_failed ON steadfast_job (lane, id) WHERE state = 3;
CREATE INDEX steadfast_job_lane_cancelled ON steadfast_job (lane, id) WHERE state = 4;
