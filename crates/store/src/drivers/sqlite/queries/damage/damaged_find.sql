-- Jobs that wait for the end of time, because a claim could not read them.
-- Parameters: 1 limit. Rows: id. Locks: read.
SELECT id FROM steadfast_job WHERE state = 0 AND run_at = 253402207200000000 LIMIT ?1
