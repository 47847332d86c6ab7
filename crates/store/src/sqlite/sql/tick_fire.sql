-- Records the run of a tick.
-- Parameters: 1 schedule id, 2 tick, 3 job id. Rows: none. Locks: write.
INSERT INTO steadfast_tick (schedule, tick, job) VALUES (?1, ?2, ?3)
ON CONFLICT (schedule, tick) DO UPDATE SET job = excluded.job, skip = NULL
