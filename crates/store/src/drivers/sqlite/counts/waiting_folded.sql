-- Deletes the minutes that were added to minute 0.
-- Parameters: 1 minutes before this. Rows: none. Locks: write.
DELETE FROM steadfast_waiting WHERE minute > 0 AND minute < ?1
