-- Deletes how gates stood, if that counts no more.
-- Parameters: 1 started before, 2 minute before, 3 limit, 4 minute before which nothing used counts.
-- Rows: none. Locks: write.
DELETE FROM steadfast_gate WHERE number IN (
    SELECT number FROM steadfast_gate WHERE next_start < ?1 AND minute < ?2
    AND (usage IS NULL OR minute < ?4)
    LIMIT ?3
)
