-- How often the counters were repaired.
-- Parameters: none. Rows: times. Locks: read.
SELECT times FROM steadfast_recount
