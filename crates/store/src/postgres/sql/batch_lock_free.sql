-- Batches, unless another node works on them.
-- Parameters: 1 ids. Rows: as named. Locks: the rows, as far as no other has them.
SELECT id, tenant, created_at, finished_at, counts, body FROM steadfast.batch
WHERE id = ANY($1)
FOR UPDATE SKIP LOCKED
