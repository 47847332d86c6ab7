-- How often the documents of one kind have changed.
-- Parameters: 1 kind. Rows: version, at most one; no row is 0. Locks: none.
SELECT version FROM steadfast_record_version WHERE kind = ?1
