-- What has happened to jobs with links, the oldest first.
-- Parameters: 1 limit. Rows: as named. Locks: read.
SELECT seq, job, dependant, worked_to
FROM steadfast_link_note
ORDER BY seq
LIMIT ?1
