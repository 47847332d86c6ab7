-- What has happened to jobs of a batch, the oldest first.
-- Parameters: 1 batch, 2 limit. Rows: as named. Locks: read.
SELECT seq, from_state, to_state FROM steadfast_batch_note
WHERE batch = ?1
ORDER BY seq
LIMIT ?2
