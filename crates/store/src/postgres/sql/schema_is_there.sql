-- Whether we have been in this database before, and what kind of database it is.
-- Parameters: none. Rows: one: whether our schema is there, whether our table is, the server's
-- version as a number, the encoding. Locks: none.
SELECT
    to_regnamespace('steadfast') IS NOT NULL,
    to_regclass('steadfast.schema_version') IS NOT NULL,
    current_setting('server_version_num')::integer,
    current_setting('server_encoding')
