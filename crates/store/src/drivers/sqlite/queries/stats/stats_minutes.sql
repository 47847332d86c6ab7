-- The waiting jobs of every lane up to a minute, that minute apart from those before it.
-- Parameters: 1 minute. Rows: lane, present (whether it is that minute), waiting, retrying.
-- Locks: read.
SELECT lane, minute = ?1 AS present, sum(waiting) AS waiting, sum(retrying) AS retrying
FROM steadfast_waiting
WHERE minute <= ?1
GROUP BY lane, minute = ?1
