-- Lets jobs start at any time.
-- Parameters: 1 job ids. Rows: none. Locks: the rows.
UPDATE steadfast.job_hot AS job SET start_before = NULL WHERE job.id = ANY($1::uuid[])
