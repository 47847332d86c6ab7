-- Writes how far a job has come.
-- Parameters: 1 job, 2 to 18 as named, then the guard, if there is one: 19 the fence that must
-- still hold, 20 whether a request to cancel is known, 21 by when the lease must have expired, or
-- null, 22 the job's id, because the numbers of deleted jobs are given again. 23 the number of the
-- group of a new failure, or null.
-- Rows: none; one change if the guard held. Locks: write.
UPDATE steadfast_job SET
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
    failure_group = CASE WHEN ?17 IS NOT NULL THEN coalesce(?23, failure_group) END,
    note = ?18
WHERE seq = ?1 AND (
    ?19 IS NULL
    OR id = ?22 AND state = 1 AND fence = ?19 AND cancel_requested <= ?20
    AND (?21 IS NULL OR lease_until <= ?21)
)
