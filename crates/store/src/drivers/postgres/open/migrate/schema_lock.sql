-- Keeps other nodes from migrating at the same time, until the transaction ends.
-- Parameters: none. Rows: none of interest. Locks: one advisory lock for each schema name.
SELECT pg_advisory_xact_lock(hashtextextended('steadfast', 7373))
