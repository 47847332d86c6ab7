-- Takes what was counted, in its order.
-- Parameters: 1 limit. Rows: as named. Locks: the rows.
DELETE FROM steadfast.failure_change
WHERE seq IN (SELECT seq FROM steadfast.failure_change ORDER BY seq LIMIT $1)
RETURNING tenant, fingerprint, tally
