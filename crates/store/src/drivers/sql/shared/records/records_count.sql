-- How many records of a tenant are in a state, up to a limit.
-- Parameters: 1 kind, 2 tenant, 3 state, 4 limit. Rows: one, count. Locks: none.
SELECT count(*) AS count FROM (
    SELECT 1 FROM steadfast_record WHERE kind = ?1 AND tenant = ?2 AND state = ?3 LIMIT ?4
) AS found
