-- What has happened to jobs that others wait for, the oldest first, and that no other transaction works on.
-- Parameters: 1 limit. Rows: seq, job, dependant, worked_to. Locks: the rows.
SELECT seq, job, dependant, worked_to FROM steadfast_event WHERE kind = 0 ORDER BY seq LIMIT ?1 /*lock free*/
