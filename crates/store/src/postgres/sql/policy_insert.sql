-- The number of a retry policy, which is given one if it has none.
-- Parameters: 1 policy as JSON. Rows: id; none if another transaction gave it one just now.
-- Locks: the new row.
WITH known AS (
    SELECT id FROM steadfast.policy WHERE md5(body) = md5($1)
),
given AS (
    INSERT INTO steadfast.policy (body) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM known)
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT id FROM known UNION ALL SELECT id FROM given
