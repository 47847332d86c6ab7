-- Forgets a day of which nothing is left.
-- Parameters: 1 day. Rows: none. Locks: the row.
DELETE FROM steadfast.job_day WHERE day = $1 AND is_dropped
