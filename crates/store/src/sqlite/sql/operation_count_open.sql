-- How many operations of a tenant are open.
-- Parameters: 1 tenant, 2 where to stop counting. Rows: one, count. Locks: read.
SELECT count(*) AS count FROM (
    SELECT 1 FROM steadfast_operation WHERE tenant = ?1 AND is_open = 1 LIMIT ?2
)
