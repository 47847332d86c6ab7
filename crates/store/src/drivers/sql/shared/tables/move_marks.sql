-- The marks of a store that is moved: it is either side of one move.
-- Parameters: none. Rows: side, mark. Locks: none.
SELECT id, body FROM steadfast_record WHERE kind = 'move' ORDER BY id DESC
