-- Whether our schema is in this database, and what kind of database it is.
-- Parameters: none. Rows: one: whether our schema is there, whether our table is, the server's
-- version as a number, the encoding. Locks: none. The catalog is read as a table, because a
-- name that was looked up in vain before is remembered by the session for a while.
SELECT
    EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'steadfast') AS has_schema,
    EXISTS (
        SELECT 1 FROM pg_class
        JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
        WHERE pg_namespace.nspname = 'steadfast' AND pg_class.relname = 'schema_version'
    ) AS has_version,
    current_setting('server_version_num')::integer AS server_version,
    current_setting('server_encoding') AS encoding
