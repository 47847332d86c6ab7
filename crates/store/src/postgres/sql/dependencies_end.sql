-- Notes what has become for good of jobs that others wait for.
-- Parameters: 1 job ids, 2 ids of the others, 3 results. Rows: none. Locks: the rows.
UPDATE steadfast.dependency SET result = new.result
FROM unnest($1::uuid[], $2::uuid[], $3::smallint[]) AS new (job, prerequisite, result)
WHERE
    dependency.job = new.job AND dependency.prerequisite = new.prerequisite
    AND dependency.result = 0
