-- The queues that are paused, of a tenant or of all.
-- Parameters: 1 tenant or NULL, 2 limit. Rows: tenant, queue. Locks: read.
SELECT tenant, queue FROM steadfast_paused WHERE ?1 IS NULL OR tenant = ?1
ORDER BY tenant, queue LIMIT ?2
