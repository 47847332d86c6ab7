-- Lets one transaction at a time go on with a name.
-- Parameters: 1 name. Rows: one. Locks: an advisory lock of the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('steadfast ' || $1, 0))
