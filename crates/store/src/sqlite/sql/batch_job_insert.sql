-- Adds a job to a batch.
-- Parameters: 1 job, 2 batch. Rows: none. Locks: write.
INSERT INTO steadfast_batch_job (job, batch, state) VALUES (?1, ?2, 0)
ON CONFLICT (job) DO NOTHING
