-- Marks jobs as ones that have to do with others.
-- Parameters: 1 job ids, 2 the bit. Rows: none. Locks: the rows.
UPDATE steadfast.job SET links = coalesce(job.links, 0::smallint) | $2::smallint
WHERE job.id = ANY($1::uuid[]) AND coalesce(job.links, 0::smallint) & $2::smallint = 0
