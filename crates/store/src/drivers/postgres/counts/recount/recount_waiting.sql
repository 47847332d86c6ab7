-- The waiting jobs of lanes by minute; what is before a minute counts as minute 0. Reads all of
-- them.
-- Parameters: 1 minute. Rows: as named. Locks: none.
SELECT
    lane, CASE WHEN run_at / 60000000 < $1 THEN 0 ELSE run_at / 60000000 END AS minute,
    count(*) AS waiting, count(*) FILTER (WHERE attempt > attempts_before) AS retrying
FROM steadfast.job_hot AS job
WHERE state = 0
GROUP BY 1, 2
