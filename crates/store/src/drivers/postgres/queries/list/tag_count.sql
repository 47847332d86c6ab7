-- How many jobs have a tag, as far as is worth counting.
-- Parameters: 1 tag, 2 tenant, or null for all, 3 at most. Rows: one. Locks: none.
SELECT count(*) AS found FROM (
    SELECT FROM (SELECT FROM steadfast.tag WHERE $2::text IS NULL AND tag.tag = $1 LIMIT $3) AS any_tenant
    UNION ALL
    SELECT FROM (SELECT FROM steadfast.tag WHERE tag.tenant = $2 AND tag.tag = $1 LIMIT $3) AS one_tenant
) AS counted
