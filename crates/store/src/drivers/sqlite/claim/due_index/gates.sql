-- How gates stand that limit starts.
-- Parameters: none. Rows: as named. Locks: read.
SELECT number, next_start, minute, starts, retries, usage FROM steadfast_gate
