-- Notes that a retry policy is used.
-- Parameters: 1 policy, 2 now. Rows: none. Locks: write.
UPDATE steadfast_policy SET used_at = ?2 WHERE id = ?1
