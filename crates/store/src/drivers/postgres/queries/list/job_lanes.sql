-- The lanes of jobs.
-- Parameters: 1 job ids. Rows: lane. Locks: none.
SELECT DISTINCT lane FROM steadfast.job WHERE id = ANY($1::uuid[])
