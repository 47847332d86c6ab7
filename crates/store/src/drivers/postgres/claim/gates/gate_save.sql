-- Stores how gates stand, which the transaction holds, in place of how they stood.
-- Parameters: 1 numbers, 2 turns of the states before, 3 next starts, 4 minutes, 5 starts, 6 retries,
-- 7 usage.
-- Rows: none. Locks: none more.
WITH new AS MATERIALIZED (
    SELECT * FROM unnest(
        $1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[]
    ) AS new (gate, before, next_start, minute, starts, retries, usage)
),
gone AS (
    -- A first column that is compared with an array has no other plan than one seek for each, whatever
    -- the planner thinks of the table.
    DELETE FROM steadfast.gate_state
    USING new
    WHERE gate_state.gate = ANY(ARRAY[new.gate]) AND gate_state.turn = new.before
)
INSERT INTO steadfast.gate_state (gate, turn, next_start, minute, starts, retries, usage)
SELECT gate, nextval('steadfast.gate_turn'), next_start, minute, starts, retries, usage FROM new
