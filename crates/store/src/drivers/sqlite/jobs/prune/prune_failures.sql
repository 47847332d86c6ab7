-- Deletes groups of failures that were not seen lately and have no dead letters.
-- Parameters: 1 seen before, 2 limit. Rows: none; how many were deleted. Locks: write.
DELETE FROM steadfast_failure WHERE seq IN (
    SELECT seq FROM steadfast_failure INDEXED BY steadfast_failure_old
    WHERE dead_letters = 0 AND last_seen < ?1 LIMIT ?2
)
