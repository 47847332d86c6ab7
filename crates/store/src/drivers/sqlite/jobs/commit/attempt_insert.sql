-- Stores the record of an attempt.
-- Parameters: the job's number, then as named, in order; the row is repeated for several records.
-- Rows: none. Locks: write.
INSERT OR FAIL INTO steadfast_attempt (
    job, fence, attempt, status, started_at, finished_at, worker, failure, output, note, decision,
    attempts_before, usage
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
