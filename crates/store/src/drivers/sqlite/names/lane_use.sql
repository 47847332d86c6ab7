-- Stores a lane, unless it is stored already: then it counts as used again.
-- Parameters: 1 lane, 2 tenant, 3 queue, 4 kind. Rows: the names that the number stands for. Locks: write.
INSERT INTO steadfast_lane (id, tenant, queue, kind) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (id) DO UPDATE SET unused_since = NULL
RETURNING id, tenant, queue, kind
