-- Lets jobs call other destinations, on rows that are locked.
-- Parameters: arrays of 1 job ids, 2 destinations or null, 3 sublanes. Rows: none.
-- Locks: the rows.
UPDATE steadfast.job SET destination = new.destination, sublane = new.sublane
FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS new (id, destination, sublane)
WHERE job.id = new.id
