-- The jobs of lanes that do not wait. Reads all of them.
-- Parameters: none. Rows: lane, state, count, dead_letters. Locks: read.
SELECT
    lane, state, count(*) AS count, sum(state = 3 AND resolved_at IS NULL) AS dead_letters
FROM steadfast_job
WHERE state + 0 <> 0
GROUP BY lane, state
