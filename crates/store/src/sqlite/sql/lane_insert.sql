-- Gives a lane its number, unless it has one.
-- Parameters: 1 tenant, 2 queue, 3 kind. Rows: none. Locks: write.
INSERT INTO steadfast_lane (tenant, queue, kind) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
