-- Adds jobs to batches.
-- Parameters: 1 jobs, 2 the batch of each. Rows: none. Locks: the new rows.
INSERT INTO steadfast.batch_job (job, batch, state)
SELECT new.job, new.batch, 0
FROM unnest($1::uuid[], $2::uuid[]) AS new (job, batch)
ON CONFLICT (job) DO NOTHING
