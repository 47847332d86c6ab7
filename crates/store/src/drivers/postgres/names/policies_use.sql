-- Stores retry policies, unless they are stored already: then they count as used again.
-- Parameters: 1 policies, ascending, 2 their JSON. Rows: id, body of those that are stored now; one that
-- was deleted meanwhile is missing. Locks: the rows that are new or were unused.
WITH wanted AS (SELECT * FROM unnest($1::bigint[], $2::text[]) AS wanted (id, body)),
used_again AS (
    UPDATE steadfast.policy AS known SET unused_since = NULL FROM wanted
    WHERE known.id = wanted.id AND known.unused_since IS NOT NULL
    RETURNING known.id, known.body
),
added AS (
    INSERT INTO steadfast.policy (id, body)
    SELECT wanted.id, wanted.body FROM wanted
    WHERE NOT EXISTS (SELECT 1 FROM steadfast.policy WHERE policy.id = wanted.id)
    ORDER BY wanted.id
    ON CONFLICT DO NOTHING
    RETURNING id, body
)
SELECT id, body FROM used_again
UNION ALL
SELECT id, body FROM added
UNION ALL
SELECT policy.id, policy.body
FROM wanted JOIN steadfast.policy ON policy.id = wanted.id
WHERE policy.unused_since IS NULL
