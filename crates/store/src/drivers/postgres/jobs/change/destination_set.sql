-- Lets jobs call other destinations, on rows that are locked.
-- Parameters: arrays of 1 job ids, 2 destinations or null, 3 flow keys. Rows: none.
-- Locks: the rows.
UPDATE steadfast.job_hot AS job SET destination = new.destination, flow_key = new.flow_key
FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS new (id, destination, flow_key)
WHERE job.id = new.id
