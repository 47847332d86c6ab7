-- Notes up to which dependant the work is done. What is left comes after what others wait for.
-- Parameters: 1 seq, 2 job id. Rows: none. Locks: write.
UPDATE steadfast_link_note
SET worked_to = ?2, seq = (SELECT max(last.seq) + 1 FROM steadfast_link_note AS last)
WHERE seq = ?1
