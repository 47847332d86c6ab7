-- The jobs of lanes that do not wait. Reads all of them.
-- Parameters: none. Rows: lane, state, count, dead_letters. Locks: none.
SELECT
    lane, state, count(*) AS count,
    count(*) FILTER (WHERE state = 3 AND resolved_at IS NULL) AS dead_letters
FROM steadfast.job
WHERE state <> 0
GROUP BY lane, state
