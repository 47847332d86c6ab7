-- Batches that ended before a time and have neither jobs nor events, the oldest first.
-- Parameters: 1 the time, 2 limit. Rows: id, revision, body. Locks: none.
SELECT record.id, record.revision, record.body FROM steadfast_record AS record
WHERE
    record.kind = 'batch' AND record.state = 'ended' AND record.at < ?1
    AND NOT EXISTS (SELECT 1 FROM steadfast_batch_job AS job WHERE job.batch = record.id)
    AND NOT EXISTS (SELECT 1 FROM steadfast_event AS event WHERE event.batch = record.id)
ORDER BY record.at
LIMIT ?2
