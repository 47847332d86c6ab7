-- The number of a lane, which is given one if it has none. The look comes first, because a
-- conflict uses up a number.
-- Parameters: 1 tenant, 2 queue, 3 kind. Rows: id; none if another transaction gave it one
-- just now. Locks: the new row.
WITH known AS (
    SELECT id FROM steadfast.lane WHERE tenant = $1 AND queue = $2 AND kind = $3
),
given AS (
    INSERT INTO steadfast.lane (tenant, queue, kind)
    SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT 1 FROM known)
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT id FROM known UNION ALL SELECT id FROM given
