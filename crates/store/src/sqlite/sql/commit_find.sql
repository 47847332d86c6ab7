-- What the guard of a transition is compared with.
-- Parameters: 1 job id. Rows: as named, at most one. Locks: read.
SELECT seq, lane, priority, schedule, state, fence, cancel_requested
FROM steadfast_job WHERE id = ?1
