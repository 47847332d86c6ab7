-- How many jobs of a flow key and level wait for a time within a range, counting no further than a
-- limit.
-- Parameters: 1 lane, 2 flow key, 3 level, 4 from, 5 before, 6 limit. Rows: count. Locks: read.
SELECT count(*) FROM (
    SELECT 1 FROM steadfast_job
    WHERE
        state = 0 AND lane = ?1 AND flow_key = ?2
        AND level = ?3 AND run_at >= ?4 AND run_at < ?5
    LIMIT ?6
)
