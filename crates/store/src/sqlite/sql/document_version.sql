-- How often the documents of one kind have changed.
-- Parameters: 1 kind. Rows: version, at most one; no row is 0. Locks: read.
SELECT version FROM steadfast_document_version WHERE space = ?1
