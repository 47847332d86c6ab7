-- Writes a group of failures.
-- Parameters: 1 tenant, 2 fingerprint, 3 to 8 as named. Rows: none. Locks: write.
INSERT INTO steadfast_failure (tenant, fingerprint, count, state, state_since, last_seen, dead_letters, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (tenant, fingerprint) DO UPDATE SET
    count = excluded.count,
    state = excluded.state,
    state_since = excluded.state_since,
    last_seen = excluded.last_seen,
    dead_letters = excluded.dead_letters,
    body = excluded.body
