-- Holds gates until the end of the transaction, as far as no other claim holds them, and takes out what
-- ended attempts charge or give back there. A caller that is not heard of any more loses them.
-- Parameters: 1 numbers, 2 how long the caller may be silent, in milliseconds as text.
-- Rows: number, change; one for each change of a gate, or one with null. Locks: the rows, in the order
-- of their numbers.
WITH held AS MATERIALIZED (
    SELECT gate.number, set_config('idle_in_transaction_session_timeout', $2::text, true) AS silence
    FROM steadfast.gate
    WHERE gate.number = ANY($1::bigint[])
    ORDER BY gate.number
    FOR UPDATE SKIP LOCKED
),
taken AS (
    -- A first column that is compared with an array has no other plan than one seek for each, whatever
    -- the planner thinks of the table.
    DELETE FROM steadfast.gate_usage
    USING held
    WHERE gate_usage.gate = ANY(ARRAY[held.number])
    RETURNING gate_usage.gate, gate_usage.change
)
SELECT held.number, held.silence, taken.change
FROM held LEFT JOIN taken ON taken.gate = held.number
