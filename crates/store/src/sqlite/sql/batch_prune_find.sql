-- Batches that have ended before a time, whose jobs are all deleted and counted.
-- Parameters: 1 the time, 2 limit, 3 keyed batches created after this stay. Rows: id. Locks: read.
SELECT batch.id FROM steadfast_batch AS batch INDEXED BY steadfast_batch_age
WHERE
    batch.finished_at < ?1
    AND (batch.idempotency_key IS NULL OR batch.created_at <= ?3)
    AND NOT EXISTS (SELECT 1 FROM steadfast_batch_job AS job WHERE job.batch = batch.id)
    AND NOT EXISTS (SELECT 1 FROM steadfast_batch_note AS note WHERE note.batch = batch.id)
ORDER BY batch.finished_at
LIMIT ?2
