-- Sets the time of the creation of jobs.
-- Parameters: 1 job ids, 2 created_at of each. Rows: none. Locks: the rows.
UPDATE steadfast.job SET created_at = new.created_at
FROM unnest($1::uuid[], $2::bigint[]) AS new (id, created_at)
WHERE job.id = new.id
