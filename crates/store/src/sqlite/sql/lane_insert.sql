-- Gives a lane its number.
-- Parameters: 1 tenant, 2 queue, 3 kind, 4 now. Rows: id. Locks: write.
INSERT INTO steadfast_lane (tenant, queue, kind, used_at) VALUES (?1, ?2, ?3, ?4) RETURNING id
