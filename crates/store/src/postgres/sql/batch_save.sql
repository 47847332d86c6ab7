-- Writes what changes of batches.
-- Parameters: 1 ids, 2 finished_at, 3 counts. Rows: none. Locks: the rows.
UPDATE steadfast.batch SET finished_at = new.finished_at, counts = new.counts
FROM unnest($1::uuid[], $2::bigint[], $3::text[]) AS new (id, finished_at, counts)
WHERE batch.id = new.id
