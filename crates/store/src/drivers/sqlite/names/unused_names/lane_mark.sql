-- Marks a lane as unused, unless it is already.
-- Parameters: 1 lane, 2 now. Rows: none. Locks: write.
UPDATE steadfast_lane SET unused_since = ?2 WHERE id = ?1 AND unused_since IS NULL
