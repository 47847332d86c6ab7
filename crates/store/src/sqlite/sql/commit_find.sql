-- What the guard of a transition is compared with.
-- Parameters: 1 job id. Rows: as named, at most one. Locks: read.
SELECT seq, lane, priority, schedule, state, fence, cancel_requested, lease_until, run_at, attempt
FROM job WHERE id = ?1
