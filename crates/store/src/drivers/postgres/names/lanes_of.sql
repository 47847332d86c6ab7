-- The names of some lanes.
-- Parameters: 1 lanes. Rows: id, tenant, queue, kind. Locks: none.
SELECT id, tenant, queue, kind FROM steadfast.lane WHERE id = ANY($1::bigint[])
