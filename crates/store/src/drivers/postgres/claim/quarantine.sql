-- Takes jobs that cannot be read out of the way of the others, as if they had not been
-- claimed. They stay where they can be mended, and count at no gate.
-- Parameters: 1 job ids, 2 a time that does not come; null to give jobs back that another process can
-- read. Rows: none. Locks: the rows.
WITH aside AS (
    UPDATE steadfast.job_hot AS job SET state = 0, run_at = coalesce($2, run_at), attempt = attempt - 1, lease_until = NULL
    WHERE id = ANY($1::uuid[]) AND state + 0 = 1
    RETURNING id, lane, run_at / 60000000 AS due_minute, attempt > attempts_before AS is_retry, gates, gate_turn
),
gate_entry AS MATERIALIZED (
    SELECT passed.gate, place.turn, aside.id
    FROM aside
    CROSS JOIN LATERAL unnest(aside.gates) AS passed (gate)
    CROSS JOIN LATERAL (VALUES (0::bigint), (aside.gate_turn)) AS place (turn)
    WHERE aside.gates IS NOT NULL
),
released AS (
    -- A first column that is compared with an array has no other plan than one seek for each, whatever
    -- the planner thinks of the table.
    DELETE FROM steadfast.gate_running
    USING gate_entry
    WHERE
        gate_running.gate = ANY(ARRAY[gate_entry.gate]) AND gate_running.turn = gate_entry.turn
        AND gate_running.job = gate_entry.id
)
INSERT INTO steadfast.count_change (lane, due_minute, waiting, retrying, running)
SELECT lane, due_minute, count(*), count(*) FILTER (WHERE is_retry), - count(*)
FROM aside
GROUP BY lane, due_minute
