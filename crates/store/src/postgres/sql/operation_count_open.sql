-- How many operations of a tenant are open.
-- Parameters: 1 tenant, 2 where to stop counting. Rows: one, count. Locks: none.
SELECT count(*) AS count FROM (
    SELECT 1 FROM steadfast.operation WHERE tenant = $1 AND is_open LIMIT $2
) AS open
