-- Lets one caller at a time create batches of a tenant, so that they can be counted.
-- Parameters: 1 tenant. Rows: one. Locks: an advisory lock of the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('steadfast batches of ' || $1, 0))
