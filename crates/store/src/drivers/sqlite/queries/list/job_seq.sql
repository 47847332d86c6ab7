-- The number of a job in the file.
-- Parameters: 1 job id. Rows: seq, at most one. Locks: read.
SELECT seq FROM steadfast_job WHERE id = ?1
