-- Stores a payload that is too large for the hot row.
-- Parameters: 1 job, 2 body. Rows: none. Locks: write.
INSERT INTO steadfast_payload (job, body) VALUES (?1, ?2)
ON CONFLICT (job) DO UPDATE SET body = excluded.body
