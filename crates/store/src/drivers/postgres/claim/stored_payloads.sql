-- Payloads of jobs as they are stored.
-- Parameters: 1 job ids. Rows: payload. Locks: none.
SELECT payload FROM steadfast.job_hot AS job WHERE id = ANY($1)
