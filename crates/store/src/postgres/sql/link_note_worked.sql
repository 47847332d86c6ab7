-- Notes up to which dependant the work is done. What is left comes after what others wait for.
-- Parameters: 1 number of the note, 2 job id. Rows: none. Locks: the row.
UPDATE steadfast.link_note SET worked_to = $2, seq = DEFAULT WHERE link_note.seq = $1
