-- How many groups of failures tenants have.
-- Parameters: 1 tenants, 2 no more than this of each. Rows: one for each tenant. Locks: none.
SELECT tenant, (
    SELECT count(*) FROM (
        SELECT FROM steadfast.failure WHERE failure.tenant = wanted.tenant LIMIT $2
    ) AS counted
) AS groups
FROM unnest($1::text[]) AS wanted (tenant)
