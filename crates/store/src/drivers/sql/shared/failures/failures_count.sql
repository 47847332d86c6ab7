-- How many failure groups tenants have, which is limited.
-- Parameters: tenants. Rows: tenant, count, of those that have any. Locks: none.
SELECT tenant, count(*) FROM steadfast_failure WHERE tenant IN (/*list*/) GROUP BY tenant
