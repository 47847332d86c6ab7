-- Stores the result of a step of a claim that holds, unless there is one, or the job has too many.
-- Parameters: 1 job id, 2 step, 3 result, 4 fence, 5 how many steps a job may have. Rows: none.
-- Locks: write.
INSERT INTO steadfast_once (job, step, result)
SELECT ?1, ?2, ?3 FROM steadfast_job
WHERE id = ?1 AND state = 1 AND fence = ?4
    AND (SELECT count(*) FROM steadfast_once WHERE job = ?1) < ?5
ON CONFLICT DO NOTHING
