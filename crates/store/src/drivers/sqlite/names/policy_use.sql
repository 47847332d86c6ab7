-- Stores a retry policy, unless it is stored already: then it counts as used again.
-- Parameters: 1 policy, 2 its JSON. Rows: the JSON that the number stands for. Locks: write.
INSERT INTO steadfast_policy (id, body) VALUES (?1, ?2)
ON CONFLICT (id) DO UPDATE SET unused_since = NULL
RETURNING body
