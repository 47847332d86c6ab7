-- Pauses a queue.
-- Parameters: 1 tenant, 2 queue. Rows: none. Locks: write.
INSERT INTO steadfast_paused (tenant, queue) VALUES (?1, ?2) ON CONFLICT DO NOTHING
