-- Writes the log of a claim that holds.
-- Parameters: 1 job id, 2 fence, 3 body. Rows: none. Locks: the row.
INSERT INTO steadfast_log (job, fence, attempt, body)
SELECT id, fence, attempt, ?3 FROM steadfast_job WHERE id = ?1 AND state + 0 = 1 AND fence = ?2
ON CONFLICT (job, fence) DO UPDATE SET body = excluded.body
