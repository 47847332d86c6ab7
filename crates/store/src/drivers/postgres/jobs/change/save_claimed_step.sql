-- Stores the result of a step of a claim that holds, unless there is one, or the job has too many.
-- Parameters: 1 job id, 2 step, 3 result, 4 fence, 5 how many steps a job may have. Rows: none.
-- Locks: the job, so that its claim holds until this is written; the new row, and one that another
-- transaction is keeping is waited for.
INSERT INTO steadfast.once (job, step, result)
SELECT $1, $2, $3 FROM (
    SELECT id FROM steadfast.job_hot AS job WHERE id = $1 AND state + 0 = 1 AND fence = $4 FOR SHARE
) AS claimed
WHERE (SELECT count(*) FROM steadfast.once WHERE job = $1) < $5
ON CONFLICT DO NOTHING
