-- How many jobs wait for another, or did.
-- Parameters: 1 id of the other, 2 limit. Rows: one, count. Locks: read.
SELECT count(*) AS count FROM (
    SELECT 1 FROM steadfast_dependency WHERE prerequisite = ?1 LIMIT ?2
)
