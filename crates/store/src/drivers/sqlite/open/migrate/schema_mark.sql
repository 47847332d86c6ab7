-- Marks a file as one we live in, at schema 0.
-- Parameters: none. Rows: none. Locks: write.
CREATE TABLE IF NOT EXISTS steadfast_schema (version INTEGER NOT NULL) STRICT;
INSERT INTO steadfast_schema (version) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM steadfast_schema);
