-- What jobs wait for has succeeded.
-- Parameters: 1 prerequisite, then jobs. Rows: none. Locks: the rows.
UPDATE steadfast_dependency SET result = 1
WHERE prerequisite = ?1 AND result = 0 AND job IN (/*list*/)
