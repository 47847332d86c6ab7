-- Lets jobs wait for others.
-- Parameters: 1 job ids, 2 ids of the others, 3 results. Rows: none. Locks: the new rows.
INSERT INTO steadfast.dependency (job, prerequisite, result)
SELECT new.job, new.prerequisite, new.result
FROM unnest($1::uuid[], $2::uuid[], $3::smallint[]) AS new (job, prerequisite, result)
ON CONFLICT (job, prerequisite) DO NOTHING
