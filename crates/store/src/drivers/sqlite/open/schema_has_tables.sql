-- Whether a file has any table or index at all.
-- Parameters: none. Rows: one for each. Locks: read.
SELECT 1 FROM sqlite_schema
