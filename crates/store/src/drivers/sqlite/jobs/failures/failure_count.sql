-- How many groups of failures a tenant has.
-- Parameters: 1 tenant, 2 no more than this. Rows: one. Locks: read.
SELECT count(*) AS groups FROM (SELECT 1 FROM steadfast_failure WHERE tenant = ?1 LIMIT ?2)
