-- Failure groups in a state, the newest first.
-- Parameters: 1 new or regressed, 2 since when at the earliest, 3 limit.
-- Rows: tenant, fingerprint, count, body. Locks: none.
SELECT tenant, fingerprint, count, body FROM steadfast_failure
WHERE state IN ('new', 'regressed') AND state = ?1 AND state_since >= ?2
ORDER BY state_since DESC
LIMIT ?3
