-- Which schema this is, and which installation of it.
-- Parameters: none. Rows: one, version and id. Locks: none.
SELECT version, id FROM steadfast.schema_version
