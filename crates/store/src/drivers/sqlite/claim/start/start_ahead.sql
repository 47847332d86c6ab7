-- How many jobs of one flow key and level are due before another one: entries of the index alone.
-- Parameters: 1 lane, 2 flow key, 3 level, 4 until which time, 5 of those of exactly that time the
-- rows before this job, or null for all, 6 how many entries to look at. Rows: ahead, looked.
-- Locks: read.
SELECT
    count(*) FILTER (
        WHERE run_at < ?4 OR ?5 IS NULL
        OR seq < (SELECT own.seq FROM steadfast_job AS own WHERE own.id = ?5)
    ) AS ahead,
    count(*) AS looked
FROM (
    SELECT run_at, seq FROM steadfast_job
    WHERE
        state = 0 AND lane = ?1 AND flow_key = ?2
        AND level = ?3 AND run_at <= ?4
    ORDER BY run_at
    LIMIT ?6
)
