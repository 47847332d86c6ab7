-- Stores how gates stand, which the transaction holds, in place of how they stood.
-- Parameters: 1 numbers, 2 turns of the states before, 3 next starts, 4 minutes, 5 starts, 6 retries.
-- Rows: none. Locks: none more.
WITH new AS MATERIALIZED (
    SELECT * FROM unnest(
        $1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]
    ) AS new (gate, before, next_start, minute, starts, retries)
),
gone AS (
    -- One seek for each, whatever the planner thinks of the table.
    DELETE FROM steadfast.gate_state
    WHERE gate_state.ctid = ANY(ARRAY(
        SELECT stored.ctid
        FROM new
        CROSS JOIN LATERAL (
            SELECT known.ctid FROM steadfast.gate_state AS known
            WHERE known.gate = new.gate AND known.turn = new.before
            LIMIT 1
        ) AS stored
    ))
)
INSERT INTO steadfast.gate_state (gate, turn, next_start, minute, starts, retries)
SELECT gate, nextval('steadfast.gate_turn'), next_start, minute, starts, retries FROM new
