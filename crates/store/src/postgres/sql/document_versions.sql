-- How often the documents of each kind have changed.
-- Parameters: none. Rows: space, version; no row is 0. Locks: none.
SELECT space, version FROM steadfast.document_version
