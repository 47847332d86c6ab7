-- Lets one transaction at a time go on with each of some names, in the order of the list.
-- Parameters: 1 names. Rows: one for each. Locks: advisory locks of the transaction, which stores in other
-- schemas do not share.
SELECT pg_advisory_xact_lock(hashtextextended('steadfast.names ' || name, 0)) FROM unnest($1::text[]) AS name
