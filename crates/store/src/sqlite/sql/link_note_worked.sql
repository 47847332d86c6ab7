-- Notes up to which dependant the work is done.
-- Parameters: 1 seq, 2 job id. Rows: none. Locks: write.
UPDATE steadfast_link_note SET worked_to = ?2 WHERE seq = ?1
