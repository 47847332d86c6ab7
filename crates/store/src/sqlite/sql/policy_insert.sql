-- Gives a retry policy a number.
-- Parameters: 1 policy as JSON, 2 now. Rows: id. Locks: write.
INSERT INTO steadfast_policy (body, used_at) VALUES (?1, ?2) RETURNING id
