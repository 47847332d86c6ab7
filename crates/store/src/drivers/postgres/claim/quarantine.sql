-- Takes jobs that cannot be read out of the way of the others, as if they had not been
-- claimed. They stay where they can be mended, and count at no gate.
-- Parameters: 1 job ids, 2 a time that does not come; null to give jobs back that another process can
-- read. Rows: none. Locks: the rows.
WITH aside AS (
    UPDATE steadfast.job SET state = 0, run_at = coalesce($2, run_at), attempt = attempt - 1, lease_until = NULL
    WHERE id = ANY($1::uuid[]) AND state + 0 = 1
    RETURNING id, lane, run_at / 60000000 AS due_minute, attempt > attempts_before AS is_retry, gates, gate_turn
),
released AS (
    -- One seek for each, whatever the planner thinks of the table.
    DELETE FROM steadfast.gate_running
    WHERE gate_running.ctid = ANY(ARRAY(
        SELECT counted.ctid
        FROM aside
        CROSS JOIN LATERAL unnest(aside.gates) AS passed (gate)
        CROSS JOIN LATERAL (VALUES (0::bigint), (aside.gate_turn)) AS place (turn)
        CROSS JOIN LATERAL (
            SELECT known.ctid FROM steadfast.gate_running AS known
            WHERE known.gate = passed.gate AND known.turn = place.turn AND known.job = aside.id
            LIMIT 1
        ) AS counted
        WHERE aside.gates IS NOT NULL
    ))
)
INSERT INTO steadfast.count_change (lane, due_minute, waiting, retrying, running)
SELECT lane, due_minute, count(*), count(*) FILTER (WHERE is_retry), - count(*)
FROM aside
GROUP BY lane, due_minute
