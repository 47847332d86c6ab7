-- Counts attempts at gates that they have not passed, unless they have ended meanwhile. What they are
-- counted at already stays.
-- Parameters: 1 job ids, 2 the gates of each as an array in text. Rows: none. Locks: the rows of the
-- jobs, in the order given.
WITH counted AS (
    UPDATE steadfast.job_hot AS job SET
        gates = ARRAY(SELECT DISTINCT unnest(coalesce(job.gates, '{}') || new.gates::bigint[]))
    FROM unnest($1::uuid[], $2::text[]) AS new (id, gates)
    WHERE job.id = new.id AND job.state + 0 = 1
    RETURNING job.id, job.gate_turn, new.gates::bigint[] AS gates
)
INSERT INTO steadfast.gate_running (gate, turn, job)
SELECT gate.number, 0, counted.id
FROM counted
CROSS JOIN LATERAL unnest(counted.gates) AS gate (number)
WHERE NOT EXISTS (
    SELECT 1 FROM steadfast.gate_running AS known
    WHERE known.gate = gate.number AND known.turn = counted.gate_turn AND known.job = counted.id
)
ON CONFLICT DO NOTHING
