-- Lets no more rows into the partitions of a day.
-- Parameters: 1 day. Rows: none. Locks: the row.
UPDATE steadfast.job_day SET is_open = false WHERE day = $1 AND is_open
