-- Counts attempts at gates, unless they have ended meanwhile.
-- Parameters: 1 job ids, 2 the gates of each as an array in text. Rows: none. Locks: the rows of the
-- jobs, in the order given.
WITH counted AS (
    UPDATE steadfast.job SET gates = new.gates::bigint[]
    FROM unnest($1::uuid[], $2::text[]) AS new (id, gates)
    WHERE job.id = new.id AND job.state + 0 = 1
    RETURNING job.id, job.gates
)
INSERT INTO steadfast.gate_running (gate, job)
SELECT gate.number, counted.id FROM counted CROSS JOIN LATERAL unnest(counted.gates) AS gate (number)
ON CONFLICT DO NOTHING
