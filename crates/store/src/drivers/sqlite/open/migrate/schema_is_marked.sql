-- Whether a file has our mark.
-- Parameters: none. Rows: one if it has. Locks: read.
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'steadfast_schema'
