-- Whether something should follow in the log of this very file, and not of the one it was copied from.
-- Parameters: none. Rows: one if so. Locks: read.
SELECT 1 FROM steadfast_log_mark
WHERE folded <> logged AND schema = (SELECT schema_version FROM pragma_schema_version)
