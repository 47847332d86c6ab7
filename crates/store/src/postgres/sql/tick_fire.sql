-- Records the runs of ticks, unless they have fired.
-- Parameters: arrays with one entry per tick: 1 schedule id, 2 tick, 3 job id.
-- Rows: the jobs whose tick fires now. Locks: the rows.
INSERT INTO steadfast.tick AS known (schedule, tick, job)
SELECT new.schedule, new.tick, new.job
FROM unnest($1::uuid[], $2::bigint[], $3::uuid[]) AS new (schedule, tick, job)
ON CONFLICT (schedule, tick) DO UPDATE SET job = excluded.job, skip = NULL
    WHERE known.job IS NULL
RETURNING job
