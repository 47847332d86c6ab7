-- Adds the attempts of a transaction to those of one lane in one minute.
-- Parameters: 1 minute, 2 lane, 3–8 tally. Rows: none. Locks: write.
INSERT INTO steadfast_minute (
    minute, lane, attempts, successes, failures, retries, successful_retries, exhausted
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (minute, lane) DO UPDATE SET
    attempts = attempts + excluded.attempts,
    successes = successes + excluded.successes,
    failures = failures + excluded.failures,
    retries = retries + excluded.retries,
    successful_retries = successful_retries + excluded.successful_retries,
    exhausted = exhausted + excluded.exhausted
