-- Adds the changes of a transaction to the counts of one lane.
-- Parameters: 1 lane, 2–6 by state, 7 dead letters, 8–13 tally, 14 waiting for a retry.
-- Rows: none. Locks: write.
UPDATE steadfast_lane SET
    waiting = waiting + ?2,
    running = running + ?3,
    succeeded = succeeded + ?4,
    failed = failed + ?5,
    cancelled = cancelled + ?6,
    dead_letters = dead_letters + ?7,
    attempts = attempts + ?8,
    successes = successes + ?9,
    failures = failures + ?10,
    retries = retries + ?11,
    successful_retries = successful_retries + ?12,
    exhausted = exhausted + ?13,
    retrying = retrying + ?14
WHERE id = ?1
