-- Extends a lease whose fence still holds. Times are in microseconds, timeouts in nanoseconds.
-- Parameters: 1 job id, 2 fence, 3 lease_until, 4 note or null, 5 whether the lease ends with the
-- timeout at the latest. Rows: lease_until, cancel_requested, none if the claim is lost.
-- Locks: write.
UPDATE steadfast_job SET
    lease_until = min(?3, iif(?5, coalesce(started_at + timeout / 1000, ?3), ?3)),
    note = coalesce(?4, note)
WHERE id = ?1 AND fence = ?2 AND +state = 1
RETURNING lease_until, cancel_requested
