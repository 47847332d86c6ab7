-- Deletes a lane that has been unused for a day.
-- Parameters: 1 lane, 2 unused since this time. Rows: none. Locks: write.
DELETE FROM steadfast_lane WHERE id = ?1 AND unused_since <= ?2
