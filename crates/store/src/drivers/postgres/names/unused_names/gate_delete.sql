-- Deletes gates that were not used for long, behind which nothing runs, and how they stood, if that
-- counts no more.
-- Parameters: 1 used before, 2 started before, 3 minute before, 4 limit. Rows: one, how many.
-- Locks: the rows, as far as no claim holds them.
WITH unused AS MATERIALIZED (
    SELECT gate.number FROM steadfast.gate
    WHERE
        gate.used_at < $1
        AND NOT EXISTS (SELECT 1 FROM steadfast.gate_running WHERE gate_running.gate = gate.number)
        AND NOT EXISTS (
            SELECT 1 FROM steadfast.gate_state
            WHERE gate_state.gate = gate.number AND (gate_state.next_start >= $2 OR gate_state.minute >= $3)
        )
    LIMIT $4
    FOR UPDATE OF gate SKIP LOCKED
),
usages AS (
    DELETE FROM steadfast.gate_usage USING unused WHERE gate_usage.gate = unused.number
),
states AS (
    DELETE FROM steadfast.gate_state USING unused WHERE gate_state.gate = unused.number
),
gates AS (
    DELETE FROM steadfast.gate USING unused WHERE gate.number = unused.number
    RETURNING 1
)
SELECT count(*) AS deleted FROM gates
