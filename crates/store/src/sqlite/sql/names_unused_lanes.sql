-- Lanes that no request has used for long and in which nothing is counted. The newest stays, used or not,
-- because its number would be given again.
-- Parameters: 1 used before, 2 above which there must be so many, 3 limit. Rows: id. Locks: read.
SELECT id FROM steadfast_lane
WHERE
    used_at < ?1 AND id < (SELECT max(id) FROM steadfast_lane)
    AND waiting = 0 AND running = 0 AND succeeded = 0 AND failed = 0 AND cancelled = 0
    AND dead_letters = 0 AND retrying = 0
    AND (SELECT count(*) FROM steadfast_lane) > ?2
LIMIT ?3
