-- Gives a retry policy a number, if it has none.
-- Parameters: 1 policy as JSON. Rows: none. Locks: write.
INSERT INTO steadfast_policy (body) VALUES (?1) ON CONFLICT DO NOTHING
