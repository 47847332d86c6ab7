-- Counts failures, to be added to their groups later.
-- Parameters: 1 tenants, 2 fingerprints, 3 tallies. Rows: none. Locks: none that others wait for.
INSERT INTO steadfast.failure_change (tenant, fingerprint, tally)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
