-- How gates stand, and how many attempts run behind them. In a claim, a statement of its own after the
-- gates are held, so that it sees what the claim before this one has taken.
-- Parameters: 1 numbers, 2 turns below which no counted attempt runs any more.
-- Rows: number, running, the first turn in which one was counted that runs, and the state, which is
-- null if there is none. Locks: none.
SELECT
    asked.number, recent.count + late.count AS running, recent.first,
    state.turn, state.next_start, state.minute, state.starts, state.retries, state.usage
FROM unnest($1::bigint[], $2::bigint[]) AS asked (number, low)
CROSS JOIN LATERAL (
    SELECT count(*), min(gate_running.turn) AS first FROM steadfast.gate_running
    WHERE gate_running.gate = asked.number AND gate_running.turn >= greatest(asked.low, 1)
) AS recent
CROSS JOIN LATERAL (
    SELECT count(*) FROM steadfast.gate_running
    WHERE gate_running.gate = asked.number AND gate_running.turn = 0
) AS late
LEFT JOIN LATERAL (
    SELECT * FROM steadfast.gate_state
    WHERE gate_state.gate = asked.number
    ORDER BY gate_state.turn DESC
    LIMIT 1
) AS state ON true
