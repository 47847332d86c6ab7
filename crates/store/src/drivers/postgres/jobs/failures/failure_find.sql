-- Groups of failures by their keys, as far as there are any.
-- Parameters: 1 tenants, 2 fingerprints. Rows: as named. Locks: none.
SELECT failure.tenant, failure.fingerprint, failure.count, failure.body
FROM unnest($1::text[], $2::text[]) AS wanted (tenant, fingerprint)
JOIN steadfast.failure ON failure.tenant = wanted.tenant AND failure.fingerprint = wanted.fingerprint
