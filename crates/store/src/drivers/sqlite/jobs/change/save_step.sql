-- Stores the result of a step, unless there is one, or no such job.
-- Parameters: 1 job id, 2 step, 3 result. Rows: none. Locks: write.
INSERT INTO steadfast_once (job, step, result)
SELECT ?1, ?2, ?3 FROM steadfast_job WHERE id = ?1
ON CONFLICT DO NOTHING
