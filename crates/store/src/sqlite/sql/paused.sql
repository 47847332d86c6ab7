-- The queues that are paused.
-- Parameters: none. Rows: tenant, queue. Locks: read.
SELECT tenant, queue FROM steadfast_paused
