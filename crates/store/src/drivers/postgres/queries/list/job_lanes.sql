-- The lanes of jobs.
-- Parameters: 1 job ids, 2 the first and 3 the last day on which these were made. Rows: lane. Locks: none.
SELECT DISTINCT lane FROM steadfast.job WHERE id = ANY($1::uuid[]) AND (day <= 0 OR (day >= $2 AND day <= $3))
