-- The log of a claim.
-- Parameters: 1 job id, 2 fence. Rows: body. Locks: none.
SELECT body FROM steadfast_log WHERE job = ?1 AND fence = ?2
