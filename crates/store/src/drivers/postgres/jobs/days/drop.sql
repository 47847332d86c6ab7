-- Drops the partitions of a day.
-- Parameters: 1 day. Rows: one, how many jobs they had. Locks: jobs and attempts, until this is committed.
SELECT steadfast.drop_day($1) AS jobs
