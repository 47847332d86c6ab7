-- How many batches of a tenant have not ended.
-- Parameters: 1 tenant, 2 where to stop counting. Rows: one, count. Locks: none.
SELECT count(*) AS count FROM (
    SELECT 1 FROM steadfast.batch WHERE tenant = $1 AND finished_at IS NULL LIMIT $2
) AS unfinished
