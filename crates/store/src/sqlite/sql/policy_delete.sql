-- Deletes a retry policy that no job has, unless it has been used.
-- Parameters: 1 policy, 2 used before. Rows: none. Locks: write.
DELETE FROM steadfast_policy WHERE id = ?1 AND used_at < ?2
