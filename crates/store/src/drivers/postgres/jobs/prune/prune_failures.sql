-- Deletes groups of failures that were not seen lately and have no dead letters.
-- Parameters: 1 seen before, 2 limit. Rows: one, how many. Locks: the rows, as far as they are free.
WITH old AS MATERIALIZED (
    SELECT tenant, fingerprint FROM steadfast.failure
    WHERE dead_letters = 0 AND last_seen < $1
    LIMIT $2
    FOR UPDATE SKIP LOCKED
),
gone AS (
    DELETE FROM steadfast.failure USING old
    WHERE failure.tenant = old.tenant AND failure.fingerprint = old.fingerprint
    RETURNING 1
)
SELECT count(*) AS deleted FROM gone
