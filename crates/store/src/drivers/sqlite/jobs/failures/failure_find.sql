-- A group of failures.
-- Parameters: 1 tenant, 2 fingerprint. Rows: its body. Locks: read.
SELECT body FROM steadfast_failure WHERE tenant = ?1 AND fingerprint = ?2
