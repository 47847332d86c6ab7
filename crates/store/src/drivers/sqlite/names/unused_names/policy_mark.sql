-- Marks a retry policy as unused, unless it is already.
-- Parameters: 1 policy, 2 now. Rows: none. Locks: write.
UPDATE steadfast_policy SET unused_since = ?2 WHERE id = ?1 AND unused_since IS NULL
