-- Lets one transaction at a time decide about unique keys.
-- Parameters: 1 numbers of keys, in order. Rows: none that matter. Locks: an advisory lock for each, which
-- stores in other schemas do not share.
SELECT pg_advisory_xact_lock(hashtextextended('steadfast.unique', asked.number))
FROM (
    SELECT asked.number FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (number, place)
    ORDER BY asked.place
    OFFSET 0
) AS asked
