-- Running jobs of a worker that should be cancelled.
-- Parameters: 1 worker, 2 limit. Rows: id, fence. Locks: read.
SELECT id, fence FROM steadfast_job
WHERE state = 1 AND cancel_requested = 1 AND worker = ?1
ORDER BY id
LIMIT ?2
