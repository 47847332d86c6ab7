-- The stored counts of waiting jobs by minute; what is before a minute counts as minute 0.
-- Parameters: 1 minute. Rows: as named. Locks: read.
SELECT
    lane, CASE WHEN minute < ?1 THEN 0 ELSE minute END AS minute, sum(waiting) AS waiting,
    sum(retrying) AS retrying
FROM steadfast_waiting
GROUP BY 1, 2
