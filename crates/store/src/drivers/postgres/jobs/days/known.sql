-- The days that have partitions, or had.
-- Parameters: none. Rows: day, is_dropped, the earliest first. Locks: none.
SELECT day, is_dropped FROM steadfast.job_day ORDER BY day
