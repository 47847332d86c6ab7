-- Forgets what has happened, once all that follows is done.
-- Parameters: 1 seq. Rows: none. Locks: write.
DELETE FROM steadfast_link_note WHERE seq = ?1
