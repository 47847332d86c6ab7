-- The stored counters of lanes.
-- Parameters: none. Rows: as named. Locks: read.
SELECT id AS lane, waiting, running, succeeded, failed, cancelled, dead_letters, retrying
FROM steadfast_lane
