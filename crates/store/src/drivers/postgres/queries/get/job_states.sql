-- The states of jobs.
-- Parameters: 1 job ids. Rows: id, state. Locks: none.
SELECT id, state FROM steadfast.job WHERE id = ANY($1::uuid[])
