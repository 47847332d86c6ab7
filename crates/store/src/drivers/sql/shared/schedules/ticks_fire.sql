-- Records the runs of ticks, unless they have fired.
-- Parameters: of each row schedule, tick, job. Rows: the jobs whose tick fires now. Locks: the rows.
INSERT INTO steadfast_tick AS known (schedule, tick, job)
VALUES /*rows*/
ON CONFLICT (schedule, tick) DO UPDATE SET job = excluded.job, skip = NULL WHERE known.job IS NULL
RETURNING job
