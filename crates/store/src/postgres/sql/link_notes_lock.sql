-- What has happened to jobs with links, the oldest first, as far as no other node works on it.
-- Parameters: 1 limit. Rows: as named. Locks: the rows.
SELECT seq, job, dependant, worked_to
FROM steadfast.link_note
ORDER BY seq
LIMIT $1
FOR UPDATE SKIP LOCKED
