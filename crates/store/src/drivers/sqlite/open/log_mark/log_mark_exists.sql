-- Whether a file has a mark for its log; files of older versions have none.
-- Parameters: none. Rows: one if it has. Locks: read.
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'steadfast_log_mark'
