-- The first waiting jobs of one flow key and level by the minute of their time: entries of the index
-- alone.
-- Parameters: 1 lane, 2 flow key, 3 level, 4 until which time, 5 how many entries to look at.
-- Rows: minute, jobs. Locks: read.
SELECT run_at / 60000000 AS minute, count(*) AS jobs
FROM (
    SELECT run_at FROM steadfast_job
    WHERE
        state = 0 AND lane = ?1 AND flow_key = ?2
        AND level = ?3 AND run_at <= ?4
    ORDER BY run_at
    LIMIT ?5
)
GROUP BY run_at / 60000000
ORDER BY run_at / 60000000
