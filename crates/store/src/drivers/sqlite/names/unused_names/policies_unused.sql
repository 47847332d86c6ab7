-- Retry policies that no job has, if there are more than few.
-- Parameters: 1 keep at least this many policies, 2 limit. Rows: id. Locks: read.
SELECT id FROM steadfast_policy
WHERE
    (SELECT count(*) FROM steadfast_policy) > ?1
    AND id NOT IN (SELECT policy FROM steadfast_job)
LIMIT ?2
