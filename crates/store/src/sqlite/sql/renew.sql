-- Extends a lease whose fence still holds.
-- Parameters: 1 job id, 2 fence, 3 lease_until, 4 note or null. Rows: cancel_requested, none
-- if the claim is lost. Locks: write.
UPDATE steadfast_job SET lease_until = ?3, note = coalesce(?4, note)
WHERE id = ?1 AND fence = ?2 AND +state = 1
RETURNING cancel_requested
