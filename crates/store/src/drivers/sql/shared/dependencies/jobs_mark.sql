-- Marks jobs that others wait for, that wait for others, or that belong to a batch.
-- Parameters: 1 the bit, then ids. Rows: none. Locks: the rows.
UPDATE steadfast_job SET links = coalesce(links, 0) | ?1
WHERE id IN (/*list*/) AND coalesce(links, 0) & ?1 = 0
