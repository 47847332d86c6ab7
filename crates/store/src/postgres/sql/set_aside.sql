-- Takes jobs that cannot be read out of the way of the others, as if they had not been
-- claimed. They stay where they can be mended, and count at no gate.
-- Parameters: 1 job ids, 2 a time that does not come. Rows: none. Locks: the rows.
WITH aside AS (
    UPDATE steadfast.job SET state = 0, run_at = $2, attempt = attempt - 1, lease_until = NULL
    WHERE id = ANY($1::uuid[]) AND state + 0 = 1
    RETURNING id, lane, run_at / 60000000 AS due_minute, attempt > attempts_before AS is_retry, gates, gate_turn
),
released AS (
    DELETE FROM steadfast.gate_running
    USING (
        SELECT id, coalesce(gate_turn, 0) AS turn, unnest(gates) AS gate FROM aside WHERE gates IS NOT NULL
    ) AS passed
    WHERE
        gate_running.gate = passed.gate AND gate_running.turn IN (0, passed.turn)
        AND gate_running.job = passed.id
)
INSERT INTO steadfast.count_change (lane, due_minute, waiting, retrying, running)
SELECT lane, due_minute, count(*), count(*) FILTER (WHERE is_retry), - count(*)
FROM aside
GROUP BY lane, due_minute
