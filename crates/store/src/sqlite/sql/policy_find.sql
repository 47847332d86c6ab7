-- The number of a retry policy, and when it was used last.
-- Parameters: 1 policy as JSON. Rows: id, used_at, at most one. Locks: read.
SELECT id, used_at FROM steadfast_policy WHERE body = ?1
