-- Deletes a lane without jobs, unless it has been used.
-- Parameters: 1 lane, 2 used before. Rows: none. Locks: write.
DELETE FROM steadfast_lane
WHERE
    id = ?1 AND used_at < ?2
    AND waiting = 0 AND running = 0 AND succeeded = 0 AND failed = 0 AND cancelled = 0
    AND dead_letters = 0 AND retrying = 0
    AND NOT EXISTS (SELECT 1 FROM steadfast_job WHERE lane = ?1)
