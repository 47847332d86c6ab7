-- Deletes batches that have ended before a time, whose jobs are all deleted and counted.
-- Parameters: 1 the time, 2 limit, 3 keyed batches created after this stay. Rows: one, count. Locks:
-- the rows, as far as no other has them.
WITH old AS (
    SELECT batch.id FROM steadfast.batch
    WHERE
        batch.finished_at < $1
        AND (batch.idempotency_key IS NULL OR batch.created_at <= $3)
        AND NOT EXISTS (SELECT 1 FROM steadfast.batch_job WHERE batch_job.batch = batch.id)
        AND NOT EXISTS (SELECT 1 FROM steadfast.batch_note WHERE batch_note.batch = batch.id)
    ORDER BY batch.finished_at
    LIMIT $2
    FOR UPDATE OF batch SKIP LOCKED
), deleted AS (
    DELETE FROM steadfast.batch USING old WHERE batch.id = old.id RETURNING batch.id
), callbacks AS (
    DELETE FROM steadfast.batch_callback USING old WHERE batch_callback.batch = old.id
)
SELECT count(*) AS count FROM deleted
