-- Adds jobs to batches.
-- Parameters: of each row job, batch, state. Rows: none. Locks: the rows.
INSERT INTO steadfast_batch_job (job, batch, state) VALUES /*rows*/
ON CONFLICT (job) DO NOTHING
