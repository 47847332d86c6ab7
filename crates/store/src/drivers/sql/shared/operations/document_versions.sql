-- How often the documents of each kind have changed.
-- Parameters: none. Rows: kind, version; no row is 0. Locks: none.
SELECT kind, version FROM steadfast_record_version
