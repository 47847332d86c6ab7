-- Says that something will follow in the log. To be folded into the file at once.
-- Parameters: none. Rows: none. Locks: write.
UPDATE steadfast_log_mark SET
    folded = logged + 1,
    schema = (SELECT schema_version FROM pragma_schema_version)
