-- Notes that jobs have to look at those that they wait for.
-- Parameters: 1 job ids. Rows: none. Locks: the new rows.
INSERT INTO steadfast.link_note (job, dependant)
SELECT new.job, new.job
FROM unnest($1::uuid[]) AS new (job)
