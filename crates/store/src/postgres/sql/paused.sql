-- The queues that are paused.
-- Parameters: none. Rows: tenant, queue. Locks: none.
SELECT tenant, queue FROM steadfast.paused
