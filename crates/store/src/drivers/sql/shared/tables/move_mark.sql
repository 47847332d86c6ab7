-- The mark of a store that is moved.
-- Parameters: 1 its side of the move. Rows: the mark, at most one. Locks: none.
SELECT body FROM steadfast_record WHERE kind = 'move' AND id = ?1
