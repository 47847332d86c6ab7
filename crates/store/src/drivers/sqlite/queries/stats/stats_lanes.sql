-- The counts of lanes. Names have no letter above ~, so that one tenant is a range of the index as well
-- as all of them.
-- Parameters: 1 tenant, 2 queue, 3 kind, where null means any. Rows: as named. Locks: read.
SELECT
    lane.id, lane.tenant, lane.queue, lane.kind,
    waiting, retrying, running, succeeded, failed, cancelled, dead_letters,
    attempts, successes, failures, retries, successful_retries, exhausted
FROM steadfast_lane AS lane
WHERE
    lane.tenant >= coalesce(?1, '') AND lane.tenant <= coalesce(?1, '~') AND (?2 IS NULL OR lane.queue = ?2)
    AND (?3 IS NULL OR lane.kind = ?3)
ORDER BY lane.tenant, lane.queue, lane.kind
