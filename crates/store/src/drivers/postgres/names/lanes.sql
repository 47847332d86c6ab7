-- The names of all lanes.
-- Parameters: none. Rows: id, tenant, queue, kind. Locks: none.
SELECT id, tenant, queue, kind FROM steadfast.lane
