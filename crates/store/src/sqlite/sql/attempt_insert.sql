-- Stores the record of an attempt.
-- Parameters: 1 job, then as named, in order. Rows: none. Locks: write.
INSERT INTO steadfast_attempt (
    job, fence, attempt, status, started_at, finished_at, worker, failure, output, note, decision,
    attempts_before
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
