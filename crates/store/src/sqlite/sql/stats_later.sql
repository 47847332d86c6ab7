-- How many waiting jobs of a lane are not due yet, counting no further than a limit. The
-- priorities are those up to PRIORITY_MAX.
-- Parameters: 1 lane, 2 now, 3 limit. Rows: count. Locks: read.
SELECT count(*) FROM (
    SELECT 1 FROM steadfast_job
    WHERE state = 0 AND lane = ?1 AND priority IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AND run_at > ?2
    LIMIT ?3
)
