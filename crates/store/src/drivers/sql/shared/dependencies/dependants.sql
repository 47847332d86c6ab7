-- The jobs that wait for another, or did, in the order of their ids.
-- Parameters: 1 the other, 2 after this id, 3 limit. Rows: job. Locks: none.
SELECT job FROM steadfast_dependency WHERE prerequisite = ?1 AND job > ?2 ORDER BY job LIMIT ?3
