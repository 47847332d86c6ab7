-- The counts of every lane.
-- Parameters: none. Rows: lane, with whether its queue is paused. Locks: read.
SELECT
    steadfast_lane.id, steadfast_lane.tenant, steadfast_lane.queue, steadfast_lane.kind, steadfast_paused.queue IS NOT NULL,
    waiting, running, succeeded, failed, cancelled, dead_letters,
    attempts, successes, failures, retries, successful_retries, exhausted
FROM steadfast_lane
LEFT JOIN steadfast_paused ON steadfast_paused.tenant = steadfast_lane.tenant AND steadfast_paused.queue = steadfast_lane.queue
ORDER BY steadfast_lane.tenant, steadfast_lane.queue, steadfast_lane.kind
