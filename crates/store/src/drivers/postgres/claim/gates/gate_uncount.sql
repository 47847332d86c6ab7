-- Attempts that were counted at a gate while another transaction ended them, which did not see that.
-- Parameters: none. Rows: one, how many. Locks: the rows.
WITH ended AS (
    DELETE FROM steadfast.gate_running
    WHERE gate_running.turn = 0 AND NOT EXISTS (
        SELECT 1 FROM steadfast.job_hot AS job
        WHERE job.id = gate_running.job AND job.state + 0 = 1 AND gate_running.gate = ANY(job.gates)
    )
    RETURNING 1
)
SELECT count(*) AS ended FROM ended
