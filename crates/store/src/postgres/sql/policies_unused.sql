-- Policies that may be unused, because there are more than few.
-- Parameters: 1 keep at least this many policies, 2 limit. Rows: id. Locks: none.
SELECT id FROM steadfast.policy
WHERE (SELECT count(*) FROM steadfast.policy) > $1::bigint
LIMIT $2
