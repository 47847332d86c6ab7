-- Says that something will follow in the log. To be folded into the file at once.
-- Parameters: none. Rows: none. Locks: write.
UPDATE steadfast_log_mark SET folded = logged + 1
