-- Gates that are used, for the first time or again after a while. One that a claim holds is passed
-- over: it is noted another time.
-- Parameters: 1 now or null, 2 numbers. Rows: none. Locks: the rows, in the order of their numbers, as
-- far as they are free.
WITH again AS (
    SELECT number FROM steadfast.gate
    WHERE number = ANY ($2::bigint[]) AND used_at < steadfast.time($1)
    ORDER BY number
    FOR NO KEY UPDATE SKIP LOCKED
),

noted AS (
    UPDATE steadfast.gate SET used_at = steadfast.time($1)
    FROM again WHERE gate.number = again.number
)

INSERT INTO steadfast.gate (number, used_at)
SELECT number, steadfast.time($1) FROM unnest($2::bigint[]) AS new (number) ORDER BY number
ON CONFLICT (number) DO NOTHING
