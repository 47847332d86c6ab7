-- How many jobs of a tenant, of a queue, or of a tenant in a queue wait, before what the transaction
-- has counted so far.
-- Parameters: 1 tenant or null, 2 queue or null. Rows: one, waiting. Locks: read.
SELECT coalesce(sum(waiting), 0) AS waiting
FROM (
    SELECT waiting FROM steadfast_lane WHERE tenant = ?1 AND (?2 IS NULL OR queue = ?2)
    UNION ALL
    SELECT waiting FROM steadfast_lane WHERE ?1 IS NULL AND queue = ?2
)
