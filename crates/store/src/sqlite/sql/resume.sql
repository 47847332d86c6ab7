-- Resumes a queue.
-- Parameters: 1 tenant, 2 queue. Rows: none. Locks: write.
DELETE FROM steadfast_paused WHERE tenant = ?1 AND queue = ?2
