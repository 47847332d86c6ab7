-- Marks a schema as one we live in, at version 0.
-- Parameters: none. Rows: none. Locks: the new table.
CREATE TABLE IF NOT EXISTS steadfast.schema_version (
    version bigint NOT NULL,
    id uuid NOT NULL
);
INSERT INTO steadfast.schema_version (version, id)
SELECT 0, gen_random_uuid() WHERE NOT EXISTS (SELECT 1 FROM steadfast.schema_version);
