-- Pauses a queue.
-- Parameters: 1 tenant, 2 queue. Rows: none. Locks: the new row.
INSERT INTO steadfast.paused (tenant, queue) VALUES ($1, $2) ON CONFLICT DO NOTHING
