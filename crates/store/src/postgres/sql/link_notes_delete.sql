-- Forgets what has happened, once all that follows is done.
-- Parameters: 1 numbers of notes. Rows: none. Locks: the rows.
DELETE FROM steadfast.link_note WHERE link_note.seq = ANY($1::bigint[])
