-- Forgets the mark of a store that was moved.
-- Parameters: 1 its side of the move. Rows: none. Locks: the row.
DELETE FROM steadfast_record WHERE kind = 'move' AND id = ?1
