-- The counts of every lane.
-- Parameters: none. Rows: lane, with whether its queue is paused. Locks: read.
SELECT
    lane.id, lane.tenant, lane.queue, lane.kind, paused.queue IS NOT NULL,
    waiting, running, succeeded, failed, cancelled, dead_letters,
    attempts, successes, failures, retries, successful_retries, exhausted
FROM lane
LEFT JOIN paused ON paused.tenant = lane.tenant AND paused.queue = lane.queue
ORDER BY lane.tenant, lane.queue, lane.kind
