-- Notes what has become for good of a job that another one waits for.
-- Parameters: 1 job id, 2 id of the other, 3 result. Rows: none. Locks: write.
UPDATE steadfast_dependency SET result = ?3 WHERE job = ?1 AND prerequisite = ?2 AND result = 0
