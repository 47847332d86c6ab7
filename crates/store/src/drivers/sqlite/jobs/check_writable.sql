-- Writes a row as it is, so that the commit has to reach the disk.
-- Parameters: none. Rows: none. Locks: write.
UPDATE steadfast_schema SET version = version
