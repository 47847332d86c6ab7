-- Keeps two repairs of the counters from being made at once, until it is let go.
-- Parameters: none. Rows: one, whether no other has it. Locks: an advisory lock.
SELECT pg_try_advisory_lock(hashtextextended('steadfast.recount', 0)) AS is_ours
