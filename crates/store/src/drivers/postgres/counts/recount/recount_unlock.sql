-- Lets the lock of a repair go.
-- Parameters: none. Rows: one. Locks: none.
SELECT pg_advisory_unlock(hashtextextended('steadfast.recount', 0)) AS was_ours
