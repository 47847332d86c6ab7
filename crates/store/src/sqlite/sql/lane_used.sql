-- Notes that a lane is used.
-- Parameters: 1 lane, 2 now. Rows: none. Locks: write.
UPDATE steadfast_lane SET used_at = ?2 WHERE id = ?1
