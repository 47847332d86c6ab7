-- Writes the schema of the file.
-- Parameters: 1 version. Rows: none. Locks: write.
UPDATE steadfast_schema SET version = ?1
