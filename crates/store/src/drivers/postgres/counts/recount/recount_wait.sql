-- The same, and waits until no other has it.
-- Parameters: none. Rows: one. Locks: an advisory lock, until it is let go.
SELECT pg_advisory_lock(hashtextextended('steadfast.recount', 0))
