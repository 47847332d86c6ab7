-- How many batches of a tenant have not ended.
-- Parameters: 1 tenant, 2 where to stop counting. Rows: one, count. Locks: read.
SELECT count(*) AS count FROM (
    SELECT 1 FROM steadfast_batch INDEXED BY steadfast_batch_unfinished_of_tenant
    WHERE tenant = ?1 AND finished_at IS NULL LIMIT ?2
)
