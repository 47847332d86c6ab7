-- The jobs that wait for another, in the order of their ids.
-- Parameters: 1 id of the other, 2 only those after this id, 3 limit. Rows: job. Locks: none.
SELECT dependency.job FROM steadfast.dependency
WHERE dependency.prerequisite = $1 AND dependency.job > $2
ORDER BY dependency.job
LIMIT $3
