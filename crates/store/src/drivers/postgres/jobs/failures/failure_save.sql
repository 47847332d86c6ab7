-- Writes groups of failures.
-- Parameters: 1 tenants, 2 fingerprints, 3 to 8 as named. Rows: none. Locks: the rows.
INSERT INTO steadfast.failure (tenant, fingerprint, count, state, state_since, last_seen, dead_letters, body)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[])
ON CONFLICT (tenant, fingerprint) DO UPDATE SET
    count = excluded.count,
    state = excluded.state,
    state_since = excluded.state_since,
    last_seen = excluded.last_seen,
    dead_letters = excluded.dead_letters,
    body = excluded.body
