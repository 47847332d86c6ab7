-- Deletes lanes that have been unused for a day and are still.
-- Parameters: 1 lanes, which are locked. Rows: one, deleted. Locks: the rows.
WITH gone AS (
    DELETE FROM steadfast.lane AS old
    WHERE
        old.id = ANY($1::bigint[])
        AND NOT EXISTS (SELECT 1 FROM steadfast.job WHERE job.lane = old.id AND job.lane > 0)
    RETURNING old.id
),
totals AS (DELETE FROM steadfast.lane_count AS total USING gone WHERE total.lane = gone.id)
SELECT count(*) AS deleted FROM gone
