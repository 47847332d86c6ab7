-- The numbers of lanes, which are given some if they have none: all in one transaction.
-- Parameters: 1 tenants, 2 queues, 3 kinds, in ascending order, so that two callers wait for each other
-- in this order and not in a circle; 4 now or null. Rows: place among those given, id.
-- Locks: the rows that are new or have not been used for a while.
SELECT new.place, steadfast.lane_number(new.tenant, new.queue, new.kind, $4) AS id
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS new (tenant, queue, kind, place)
