-- The result of a step, if the claim of its job holds.
-- Parameters: 1 job id, 2 step, 3 fence. Rows: result, null if there is none; no row if the claim
-- does not hold. Locks: none.
SELECT (SELECT result FROM steadfast.once WHERE job = $1 AND step = $2) AS result
FROM steadfast.job_hot AS job
WHERE id = $1 AND state + 0 = 1 AND fence = $3
