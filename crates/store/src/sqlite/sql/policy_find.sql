-- The number of a retry policy.
-- Parameters: 1 policy as JSON. Rows: id, at most one. Locks: read.
SELECT id FROM steadfast_policy WHERE body = ?1
