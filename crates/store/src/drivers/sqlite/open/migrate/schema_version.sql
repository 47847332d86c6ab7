-- The schema of the file.
-- Parameters: none. Rows: version, at most one. Locks: read.
SELECT version FROM steadfast_schema
