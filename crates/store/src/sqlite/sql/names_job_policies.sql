-- The retry policies of some jobs.
-- Parameters: 1 the job before, 2 limit. Rows: seq, policy. Locks: read.
SELECT seq, policy FROM steadfast_job WHERE seq > ?1 ORDER BY seq LIMIT ?2
