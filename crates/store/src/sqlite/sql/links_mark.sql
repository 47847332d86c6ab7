-- Marks a job as one that has to do with others.
-- Parameters: 1 job id, 2 the bit. Rows: none. Locks: write.
UPDATE steadfast_job SET links = coalesce(links, 0) | ?2 WHERE id = ?1 AND coalesce(links, 0) & ?2 = 0
