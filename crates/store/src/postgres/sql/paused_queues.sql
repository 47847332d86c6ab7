-- The queues that are paused, of a tenant or of all.
-- Parameters: 1 tenant or NULL, 2 limit. Rows: tenant, queue. Locks: none.
SELECT tenant, queue FROM steadfast.paused WHERE $1::text IS NULL OR tenant = $1
ORDER BY tenant COLLATE "C", queue COLLATE "C" LIMIT $2
