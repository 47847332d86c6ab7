-- Makes a waiting job a claim.
-- Parameters: 1 job, then as named, in order. Rows: none. Locks: write.
UPDATE steadfast_job SET
    state = 1,
    attempt = ?2,
    fence = ?3,
    lease_until = ?4,
    worker = ?5,
    started_at = ?6,
    first_started_at = ?7,
    note = NULL
WHERE seq = ?1
