-- Deletes lanes without jobs, of which nothing is counted but attempts in all.
-- Parameters: 1 lanes, which are held. Rows: one, deleted. Locks: the rows.
WITH gone AS (
    DELETE FROM steadfast.lane AS old
    WHERE
        old.id = ANY($1::integer[])
        AND NOT EXISTS (SELECT 1 FROM steadfast.job WHERE job.lane = old.id AND job.lane > 0)
        AND NOT EXISTS (SELECT 1 FROM steadfast.count_change AS change WHERE change.lane = old.id)
        AND NOT EXISTS (SELECT 1 FROM steadfast.counted AS change WHERE change.lane = old.id)
        AND NOT EXISTS (SELECT 1 FROM steadfast.recount_lane AS noted WHERE noted.lane = old.id)
        AND NOT EXISTS (
            SELECT 1 FROM steadfast.lane_count AS total
            WHERE total.lane = old.id AND (
                waiting, retrying, running, succeeded, failed, cancelled, dead_letters
            ) <> (0, 0, 0, 0, 0, 0, 0)
        )
    RETURNING old.id
),
totals AS (DELETE FROM steadfast.lane_count AS total USING gone WHERE total.lane = gone.id)
SELECT count(*) AS deleted FROM gone
