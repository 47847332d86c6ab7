-- The number of a retry policy, which is given one if it has none.
-- Parameters: 1 policy as JSON, 2 now or null. Rows: id. Locks: the row, if it is new or has not been
-- used for a while.
SELECT steadfast.policy_number($1, $2) AS id
