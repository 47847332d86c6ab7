-- The names of a lane.
-- Parameters: 1 lane. Rows: tenant, queue, kind, at most one. Locks: read.
SELECT tenant, queue, kind FROM steadfast_lane WHERE id = ?1
