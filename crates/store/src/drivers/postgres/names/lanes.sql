-- The names of the lanes of a tenant, or of all.
-- Parameters: 1 tenant or null. Rows: id, tenant, queue, kind. Locks: none.
SELECT id, tenant, queue, kind FROM steadfast.lane WHERE $1::text IS NULL OR tenant = $1
