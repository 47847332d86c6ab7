-- What follows in the log.
-- Parameters: none. Rows: none. Locks: write.
UPDATE steadfast_log_mark SET logged = folded
