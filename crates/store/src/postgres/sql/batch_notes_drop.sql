-- Forgets what has happened to jobs of batches that are not there.
-- Parameters: 1 batches. Rows: none. Locks: the rows.
DELETE FROM steadfast.batch_note
WHERE batch_note.batch IN (
    SELECT missing.id FROM unnest($1::uuid[]) AS missing (id)
    WHERE NOT EXISTS (SELECT 1 FROM steadfast.batch WHERE batch.id = missing.id)
)
