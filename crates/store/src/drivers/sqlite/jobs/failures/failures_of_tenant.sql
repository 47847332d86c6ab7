-- Groups of failures of a tenant, those with the most failures first.
-- Parameters: 1 tenant, 2 and 3 the count and fingerprint that they come after, 4 limit.
-- Rows: as named. Locks: read.
SELECT tenant, fingerprint, count, body
FROM steadfast_failure INDEXED BY steadfast_failure_of_tenant
WHERE tenant = ?1 AND (count, fingerprint) < (?2, ?3)
ORDER BY count DESC, fingerprint DESC
LIMIT ?4
