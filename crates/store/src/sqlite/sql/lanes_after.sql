-- The names of lanes made after a given one.
-- Parameters: 1 the newest lane known. Rows: id, tenant, queue, kind. Locks: read.
SELECT id, tenant, queue, kind FROM steadfast_lane WHERE id > ?1 ORDER BY id
