-- Writes failure groups.
-- Parameters: of each row the columns as named. Rows: none. Locks: the rows.
INSERT INTO steadfast_failure (tenant, fingerprint, count, state, state_since, last_seen, dead_letters, body)
VALUES /*rows*/
ON CONFLICT (tenant, fingerprint) DO UPDATE SET
    count = excluded.count,
    state = excluded.state,
    state_since = excluded.state_since,
    last_seen = excluded.last_seen,
    dead_letters = excluded.dead_letters,
    body = excluded.body
