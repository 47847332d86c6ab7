-- One retry policy.
-- Parameters: 1 policy. Rows: body, as JSON, at most one. Locks: read.
SELECT body FROM steadfast_policy WHERE id = ?1
