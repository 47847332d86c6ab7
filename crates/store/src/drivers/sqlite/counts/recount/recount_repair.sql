-- Notes a repair of the counters, if no other was made meanwhile.
-- Parameters: 1 how many there were. Rows: none; one change if it is noted. Locks: write.
UPDATE steadfast_recount SET times = times + 1 WHERE times = ?1
