-- The number of a lane, and when it was used last.
-- Parameters: 1 tenant, 2 queue, 3 kind. Rows: id, used_at, at most one. Locks: read.
SELECT id, used_at FROM steadfast_lane WHERE tenant = ?1 AND queue = ?2 AND kind = ?3
