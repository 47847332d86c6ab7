-- The waiting jobs of the lanes of a tenant, or of all, up to a minute, that minute apart from those
-- before it.
-- Parameters: 1 minute, 2 tenant or null. Rows: lane, present (whether it is that minute), waiting, retrying.
-- Locks: read.
SELECT lane, minute = ?1 AS present, sum(waiting) AS waiting, sum(retrying) AS retrying
FROM steadfast_waiting
WHERE
    minute <= ?1
    AND (?2 IS NULL OR lane IN (SELECT id FROM steadfast_lane WHERE tenant = ?2))
GROUP BY lane, minute = ?1
