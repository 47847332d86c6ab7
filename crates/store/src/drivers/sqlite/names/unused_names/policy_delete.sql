-- Deletes a retry policy that has been unused for a day.
-- Parameters: 1 policy, 2 unused since this time. Rows: none. Locks: write.
DELETE FROM steadfast_policy WHERE id = ?1 AND unused_since <= ?2
