-- Forgets past minutes in which nothing waits any more.
-- Parameters: 1 minutes before this. Rows: none. Locks: write.
DELETE FROM steadfast_waiting WHERE minute < ?1 AND waiting = 0 AND retrying = 0
