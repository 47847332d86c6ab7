-- Writes the log of a claim that holds.
-- Parameters: 1 job id, 2 fence, 3 the number of the first line, 4 body. Rows: none.
-- Locks: the job, so that it is not deleted before this is written; the row.
INSERT INTO steadfast_log (job, fence, attempt, first_line, body)
SELECT id, fence, attempt, ?3, ?4 FROM steadfast_job/*hot*/ WHERE id = ?1 AND state + 0 = 1 AND fence = ?2 /*lock share*/
ON CONFLICT (job, fence) DO UPDATE SET body = excluded.body
