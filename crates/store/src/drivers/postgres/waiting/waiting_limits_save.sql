-- Replaces the limits of waiting jobs for programs that store jobs by SQL.
-- Parameters: 1 scopes, 2 tenants, 3 keys, 4 limits. Rows: none. Locks: the rows that change.
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS wanted (scope, tenant, key, most)
),
gone AS (
    DELETE FROM steadfast.waiting_limit AS held
    WHERE NOT EXISTS (
        SELECT 1 FROM wanted
        WHERE wanted.scope = held.scope AND wanted.tenant = held.tenant AND wanted.key = held.key
    )
)
INSERT INTO steadfast.waiting_limit AS held (scope, tenant, key, most)
SELECT scope, tenant, key, most FROM wanted
ON CONFLICT (scope, tenant, key) DO UPDATE SET most = excluded.most WHERE held.most <> excluded.most
