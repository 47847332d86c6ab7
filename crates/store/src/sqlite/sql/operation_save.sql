-- Creates or replaces an operation.
-- Parameters: 1 id, 2 tenant, 3 whether it is open, 4 when it ended, 5 revision, 6 body. Rows: none.
-- Locks: write.
INSERT INTO steadfast_operation (id, tenant, is_open, finished_at, revision, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (id) DO UPDATE SET is_open = excluded.is_open, finished_at = excluded.finished_at,
    revision = excluded.revision, body = excluded.body
