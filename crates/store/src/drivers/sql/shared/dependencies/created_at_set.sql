-- Sets when a job was created.
-- Parameters: 1 id, 2 time. Rows: none. Locks: the row.
UPDATE steadfast_job/*hot*/ SET created_at = ?2 WHERE id = ?1
