-- Failure groups of a tenant, those with the most failures first.
-- Parameters: 1 tenant, 2 and 3 the count and fingerprint that they come after, 4 limit.
-- Rows: tenant, fingerprint, count, body. Locks: none.
SELECT tenant, fingerprint, count, body FROM steadfast_failure
WHERE tenant = ?1 AND (count, fingerprint) < (?2, ?3)
ORDER BY count DESC, fingerprint DESC
LIMIT ?4
