-- How many jobs wait for another, or did, up to a limit.
-- Parameters: 1 the other, 2 limit. Rows: one, count. Locks: none.
SELECT count(*) FROM (
    SELECT 1 FROM steadfast_dependency WHERE prerequisite = ?1 LIMIT ?2
) AS found
