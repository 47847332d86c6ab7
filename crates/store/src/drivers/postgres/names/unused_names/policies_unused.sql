-- Policies that may be unused, because there are more than few. A marked one that a user's transaction
-- holds is left out: its job may become visible behind a search that has passed it.
-- Parameters: 1 keep at least this many policies, 2 limit. Rows: id. Locks: marked rows, if they are
-- free.
WITH free AS (
    SELECT id FROM steadfast.policy
    WHERE unused_since IS NOT NULL AND (SELECT count(*) FROM steadfast.policy) > $1::bigint
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
SELECT id FROM free
UNION ALL
SELECT id FROM steadfast.policy
WHERE unused_since IS NULL AND (SELECT count(*) FROM steadfast.policy) > $1::bigint
LIMIT $2
