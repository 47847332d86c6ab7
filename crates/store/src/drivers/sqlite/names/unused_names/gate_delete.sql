-- Deletes how gates stood, if that counts no more.
-- Parameters: 1 started before, 2 minute before, 3 limit. Rows: none. Locks: write.
DELETE FROM steadfast_gate WHERE number IN (
    SELECT number FROM steadfast_gate WHERE next_start < ?1 AND minute < ?2 LIMIT ?3
)
