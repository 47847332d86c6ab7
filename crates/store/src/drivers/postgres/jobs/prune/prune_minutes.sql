-- Deletes old counts by the minute.
-- Parameters: 1 minutes before this, 2 limit. Rows: one, deleted. Locks: the rows.
WITH old AS MATERIALIZED (
    SELECT minute, lane FROM steadfast.minute WHERE minute < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
),
gone AS (
    -- A first column that is compared with an array has no other plan than one seek for each, whatever
    -- the planner thinks of the table.
    DELETE FROM steadfast.minute
    USING old
    WHERE minute.minute = ANY(ARRAY[old.minute]) AND minute.lane = old.lane
    RETURNING 1
)
SELECT count(*) AS deleted FROM gone
