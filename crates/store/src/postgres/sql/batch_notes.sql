-- What has happened to jobs of batches, the oldest first.
-- Parameters: 1 batches, 2 behind this note, 3 limit for each. Rows: as named. Locks: none; the caller
-- holds the batches.
SELECT note.seq, held.batch, note.from_state, note.to_state
FROM unnest($1::uuid[]) AS held (batch)
CROSS JOIN LATERAL (
    SELECT batch_note.seq, batch_note.from_state, batch_note.to_state
    FROM steadfast.batch_note
    WHERE batch_note.batch = held.batch AND batch_note.seq > $2
    ORDER BY batch_note.seq
    LIMIT $3
) AS note
ORDER BY note.seq
