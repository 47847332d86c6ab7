-- Whether something should follow in the log of the file.
-- Parameters: none. Rows: one if so. Locks: read.
SELECT 1 FROM steadfast_log_mark WHERE folded <> logged
