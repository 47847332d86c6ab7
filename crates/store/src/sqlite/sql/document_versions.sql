-- How often the documents of each kind have changed.
-- Parameters: none. Rows: space, version; no row is 0. Locks: read.
SELECT space, version FROM steadfast_document_version
