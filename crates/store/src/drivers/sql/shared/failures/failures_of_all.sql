-- Failure groups of all tenants, those with the most failures first.
-- Parameters: 1, 2 and 3 the tenant, count and fingerprint that they come after, 4 limit.
-- Rows: tenant, fingerprint, count, body. Locks: none.
SELECT tenant, fingerprint, count, body FROM steadfast_failure
WHERE (count, tenant, fingerprint) < (?2, ?1, ?3)
ORDER BY count DESC, tenant DESC, fingerprint DESC
LIMIT ?4
