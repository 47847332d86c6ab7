-- The jobs that wait for another, in the order of their ids.
-- Parameters: 1 id of the other, 2 only those after this id, 3 limit. Rows: job. Locks: read.
SELECT job FROM steadfast_dependency WHERE prerequisite = ?1 AND job > ?2 ORDER BY job LIMIT ?3
