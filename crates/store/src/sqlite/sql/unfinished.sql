-- The newest run of a schedule that has not ended.
-- Parameters: 1 schedule id. Rows: id, at most one. Locks: read.
SELECT id FROM steadfast_job
WHERE schedule = ?1 AND schedule IS NOT NULL AND state IN (0, 1)
ORDER BY tick DESC, id DESC
LIMIT 1
