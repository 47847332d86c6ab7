-- Creates a document or replaces it.
-- Parameters: 1 kind, 2 id, 3 body, 4 revision. Rows: none. Locks: write.
INSERT INTO steadfast_document (space, id, body, revision) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (space, id) DO UPDATE SET body = excluded.body, revision = excluded.revision
