-- The number of a lane.
-- Parameters: 1 tenant, 2 queue, 3 kind. Rows: id, at most one. Locks: read.
SELECT id FROM steadfast_lane WHERE tenant = ?1 AND queue = ?2 AND kind = ?3
