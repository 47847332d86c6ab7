-- Lanes without jobs and without counts by the minute, if there are more than few.
-- Parameters: 1 keep at least this many lanes, 2 limit. Rows: id. Locks: read.
SELECT id FROM steadfast_lane AS known
WHERE
    (SELECT count(*) FROM steadfast_lane) > ?1
    AND waiting = 0 AND retrying = 0 AND running = 0 AND succeeded = 0 AND failed = 0
    AND cancelled = 0 AND dead_letters = 0
    AND NOT EXISTS (SELECT 1 FROM steadfast_job WHERE lane = known.id)
    AND id NOT IN (SELECT lane FROM steadfast_minute)
    AND id NOT IN (SELECT lane FROM steadfast_waiting)
LIMIT ?2
