-- Writes what a command may change besides progress.
-- Parameters: 1 job, 2 priority, 3 policy, 4 payload or null if it is large, 5 destination,
-- 6 flow key, each or null. Rows: none.
-- Locks: write.
UPDATE steadfast_job SET
    priority = ?2, policy = ?3, payload = ?4, destination = ?5, flow_key = ?6
WHERE seq = ?1
