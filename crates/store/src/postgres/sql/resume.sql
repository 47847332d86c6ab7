-- Resumes a queue.
-- Parameters: 1 tenant, 2 queue. Rows: none. Locks: the row.
DELETE FROM steadfast.paused WHERE tenant = $1 AND queue = $2
