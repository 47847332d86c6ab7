-- Whether we have been in this file before.
-- Parameters: none. Rows: one if we have. Locks: read.
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'steadfast_schema'
