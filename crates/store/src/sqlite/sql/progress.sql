-- Writes how far a job has come.
-- Parameters: 1 job, then as named, in order. Rows: none. Locks: write.
UPDATE job SET
    state = ?2,
    run_at = ?3,
    fence = ?4,
    attempt = ?5,
    attempts_before = ?6,
    cancel_requested = ?7,
    lease_until = ?8,
    started_at = ?9,
    first_started_at = ?10,
    finished_at = ?11,
    resolved_at = ?12,
    worker = ?13,
    snoozes = ?14,
    last_delay = ?15,
    reason = ?16,
    failure = ?17,
    note = ?18
WHERE seq = ?1
