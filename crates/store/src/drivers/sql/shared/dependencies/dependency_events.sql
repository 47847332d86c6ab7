-- What has happened to jobs that others wait for, the oldest first.
-- Parameters: 1 limit. Rows: seq, job, dependant, worked_to. Locks: none.
SELECT seq, job, dependant, worked_to FROM steadfast_event WHERE kind = 0 ORDER BY seq LIMIT ?1
