-- Deletes old tick records.
-- Parameters: 1 ticks before this, 2 limit. Rows: one, deleted. Locks: the rows.
WITH old AS MATERIALIZED (
    SELECT schedule, tick FROM steadfast.tick WHERE tick < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
),
gone AS (
    -- A first column that is compared with an array has no other plan than one seek for each, whatever
    -- the planner thinks of the table.
    DELETE FROM steadfast.tick
    USING old
    WHERE
        tick.schedule = ANY(ARRAY[old.schedule])
        AND tick.tick BETWEEN old.tick AND old.tick
    RETURNING 1
)
SELECT count(*) AS deleted FROM gone
