-- The counts of every lane.
-- Parameters: none. Rows: as named; paused is whether the lane's queue is. Locks: read.
SELECT
    lane.id, lane.tenant, lane.queue, lane.kind, paused.queue IS NOT NULL AS paused,
    waiting, running, succeeded, failed, cancelled, dead_letters,
    attempts, successes, failures, retries, successful_retries, exhausted
FROM steadfast_lane AS lane
LEFT JOIN steadfast_paused AS paused ON paused.tenant = lane.tenant AND paused.queue = lane.queue
ORDER BY lane.tenant, lane.queue, lane.kind
