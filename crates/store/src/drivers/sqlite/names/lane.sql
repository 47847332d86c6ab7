-- The names of a lane.
-- Parameters: 1 lane. Rows: id, tenant, queue, kind, at most one. Locks: read.
SELECT id, tenant, queue, kind FROM steadfast_lane WHERE id = ?1
