-- Stores lanes, unless they are stored already: then they count as used again.
-- Parameters: 1 lanes, 2 tenants, 3 queues, 4 kinds, the lanes ascending, so that two callers wait for
-- each other in this order and not in a circle. Rows: id, tenant, queue, kind of those that are stored
-- now; one that was deleted meanwhile is missing. Locks: the rows that are new or were unused.
WITH wanted AS (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS wanted (id, tenant, queue, kind)
),
used_again AS (
    UPDATE steadfast.lane AS known SET unused_since = NULL FROM wanted
    WHERE known.id = wanted.id AND known.unused_since IS NOT NULL
    RETURNING known.id, known.tenant, known.queue, known.kind
),
added AS (
    INSERT INTO steadfast.lane (id, tenant, queue, kind)
    SELECT wanted.id, wanted.tenant, wanted.queue, wanted.kind FROM wanted
    WHERE NOT EXISTS (SELECT 1 FROM steadfast.lane WHERE lane.id = wanted.id)
    ORDER BY wanted.id
    ON CONFLICT DO NOTHING
    RETURNING id, tenant, queue, kind
)
SELECT id, tenant, queue, kind FROM used_again
UNION ALL
SELECT id, tenant, queue, kind FROM added
UNION ALL
SELECT lane.id, lane.tenant, lane.queue, lane.kind
FROM wanted JOIN steadfast.lane ON lane.id = wanted.id
WHERE lane.unused_since IS NULL
