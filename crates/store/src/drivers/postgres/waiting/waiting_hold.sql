-- How many jobs wait at gates, for a transaction that is about to add some.
-- Parameters: 1 numbers of the gates, in order, 2 tenants, 3 queues, null for all, 4 limits, 5 new jobs.
-- Rows: waiting, in the order given. Locks: advisory locks of the transaction.
SELECT steadfast.hold_waiting(asked.number, asked.tenant, asked.queue, asked.most, asked.new) AS waiting
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
    AS asked (number, tenant, queue, most, new)
